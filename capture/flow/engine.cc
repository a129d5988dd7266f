#include "capture/flow/engine.h"

#include <algorithm>
#include <utility>

#include "capture/flow/describe.h"
#include "capture/flow/pool.h"
#include "capture/flow/recent.h"
#include "capture/flow/table.h"
#include "capture/flow/tcp.h"
#include "capture/flow/volume.h"

namespace chokepoint::capture::flow {
namespace {

// Among that many of the longest idle flows the smallest goes first.
constexpr int kCandidates = 8;
// Fewer flows are not folded for the sake of their details.
constexpr std::size_t kFewestFlows = 16;

bool is_flow(packet::Kind kind) {
  return kind == packet::Kind::Tcp || kind == packet::Kind::Udp || kind == packet::Kind::Roce;
}

void count_loss(Half& half, const packet::Packet& packet, const Noted& noted,
                const Keeping& keeping) {
  const auto add = [&](auto& to) {
    to.retransmitted_packets += noted.is_again ? 1 : 0;
    to.retransmitted_bytes += noted.is_again ? packet.payload_bytes : 0;
    to.out_of_order += noted.is_out_of_order ? 1 : 0;
    to.duplicate_acks += noted.reports_missing ? 1 : 0;
  };
  add(half.tally);
  if (keeping.series) {
    add(made(half.series, keeping.budget).at(packet.time_ns));
  }
}

bool is_answer(const packet::Packet& packet) {
  return packet.kind == packet::Kind::Tcp && packet.tcp.has(packet::kSyn) &&
         packet.tcp.has(packet::kAck);
}

}  // namespace

class Engine::Core {
 public:
  explicit Core(const Limits& limits) : limits_(limits), table_(pool_) {}

  const Seen& take(const packet::Packet& packet) {
    if (!is_flow(packet.kind)) {
      seen_ = {};
      return seen_;
    }
    const Directed directed = key_of(packet.ends);
    const Recent::Place* place = recent_.find(directed.key);
    if (place == nullptr || is_another(*place->flow, directed, packet)) {
      place = &look_up(directed, packet);
    }
    Flow& flow = *place->flow;
    seen_.slot = place->slot;
    pool_.touch(flow, place->slot, packet.time_ns);
    take(flow, directed, packet);
    if (budget_.used > limits_.detail_bytes && pool_.size() > kFewestFlows) {
      fold_oldest();
    }
    return seen_;
  }

  void note(const packet::Packet& packet, const Noted& noted) {
    Half& half = pool_[seen_.slot].halves.at(seen_.direction);
    count_loss(half, packet, noted, {.budget = budget_, .series = limits_.keep_series});
  }

  void visit(const std::function<void(std::uint32_t, const FlowFacts&)>& see) const {
    for (std::uint32_t slot = pool_.oldest(); slot != kNoSlot; slot = pool_.newer(slot)) {
      see(slot, describe(pool_[slot]));
    }
  }

  void glance(const std::function<void(std::uint32_t, const Glance&)>& see) const {
    for (std::uint32_t slot = pool_.oldest(); slot != kNoSlot; slot = pool_.newer(slot)) {
      const Flow& flow = pool_[slot];
      see(slot, {.ends = flow.ends,
                 .kind = flow.kind,
                 .start_ns = flow.start_ns,
                 .end_ns = flow.end_ns,
                 .tallies = {&flow.halves[0].tally, &flow.halves[1].tally}});
    }
  }

  FlowFacts facts(std::uint32_t slot) const { return describe(pool_[slot]); }

  void drain(bool all, const std::function<void(std::uint32_t, std::uint8_t, const Bin&)>& see) {
    for (std::uint32_t slot = pool_.oldest(); slot != kNoSlot; slot = pool_.newer(slot)) {
      for (std::uint8_t direction = 0; direction < 2; ++direction) {
        const auto& series = pool_[slot].halves[direction].series;
        if (series) {
          series->drain(all, [&](const Bin& bin) { see(slot, direction, bin); });
        }
      }
    }
  }

  std::vector<Bin> course(std::uint32_t slot, std::uint8_t direction) const {
    const auto& series = pool_[slot].halves[direction].series;
    return series ? series->bins() : std::vector<Bin>{};
  }

  const Remainder& remainder() const { return remainder_; }
  std::size_t flows() const { return pool_.size(); }
  void on_fold(std::function<void(std::uint32_t, const FlowFacts&)> call) {
    on_fold_ = std::move(call);
  }

 private:
  const Recent::Place& look_up(const Directed& directed, const packet::Packet& packet) {
    const std::uint64_t hash = table_.hash(directed.key);
    std::uint32_t slot = table_.find(directed.key, hash);
    if (slot == kNoSlot || is_another(pool_[slot], directed, packet)) {
      slot = make(directed, hash, packet);
    }
    return recent_.put(directed.key, pool_[slot], slot);
  }

  static bool is_another(const Flow& flow, const Directed& directed, const packet::Packet& packet) {
    return packet.kind == packet::Kind::Tcp &&
           begins_another(flow, flow.direction_of(directed.from_low), packet);
  }

  std::uint32_t make(const Directed& directed, std::uint64_t hash, const packet::Packet& packet) {
    if (pool_.size() >= std::max<std::size_t>(limits_.flows, 1)) {
      fold_oldest();
    }
    const std::uint32_t slot = pool_.make();
    Flow& flow = pool_[slot];
    flow.key = directed.key;
    flow.kind = packet.kind;
    flow.interface = packet.interface;
    flow.start_ns = flow.end_ns = packet.time_ns;
    const bool is_from_b = is_answer(packet);
    flow.is_low_a = directed.from_low != is_from_b;
    flow.ends = packet.ends;
    if (is_from_b) {
      std::swap(flow.ends.source, flow.ends.destination);
      std::swap(flow.ends.source_port, flow.ends.destination_port);
    }
    table_.put(flow.key, hash, slot);
    return slot;
  }

  void take(Flow& flow, const Directed& directed, const packet::Packet& packet) {
    const unsigned direction = flow.direction_of(directed.from_low);
    Half& half = flow.halves[direction];
    const Keeping keeping{.budget = budget_, .series = limits_.keep_series};
    flow.end_ns = std::max(flow.end_ns, packet.time_ns);
    Placed placed{};
    if (packet.kind == packet::Kind::Tcp) {
      half.segment.saw(packet.payload_bytes);
      placed = take_tcp(flow, direction, packet, keeping);
    }
    // Another interface's view of the same packet is no second packet.
    if (!placed.is_copy || packet.interface == flow.interface) {
      count_volume(half, packet, keeping);
    }
    seen_.generation = flow.generation;
    seen_.direction = static_cast<std::uint8_t>(direction);
    seen_.is_flow = true;
    seen_.is_copy = placed.is_copy;
    seen_.offset = placed.offset;
    seen_.new_from = placed.new_from;
  }

  void fold_oldest() {
    std::uint32_t chosen = pool_.oldest();
    std::uint32_t candidate = chosen;
    const auto size = [this](std::uint32_t slot) {
      return pool_[slot].halves[0].tally.bytes + pool_[slot].halves[1].tally.bytes;
    };
    for (int i = 1; i < kCandidates && pool_.newer(candidate) != kNoSlot; ++i) {
      candidate = pool_.newer(candidate);
      chosen = size(candidate) < size(chosen) ? candidate : chosen;
    }
    fold(chosen);
  }

  void fold(std::uint32_t slot) {
    const Flow& flow = pool_[slot];
    if (on_fold_) {
      on_fold_(slot, describe(flow));
    }
    ++remainder_.flows;
    for (const Half& half : flow.halves) {
      remainder_.packets += half.tally.packets;
      remainder_.bytes += half.tally.bytes;
      remainder_.payload_bytes += half.tally.payload_bytes;
      remainder_.retransmitted_packets += half.tally.retransmitted_packets;
      remainder_.retransmitted_bytes += half.tally.retransmitted_bytes;
    }
    recent_.forget(flow.key);
    table_.remove(flow.key, slot);
    pool_.remove(slot);
  }

  Limits limits_;
  Budget budget_{};  // outlives the flows, which give their shares back
  Pool pool_;
  Table table_;
  Recent recent_{};
  Seen seen_{};
  Remainder remainder_{};
  std::function<void(std::uint32_t, const FlowFacts&)> on_fold_;
};

Engine::Engine(const Limits& limits) : core_(std::make_unique<Core>(limits)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

const Seen& Engine::take(const packet::Packet& packet) { return core_->take(packet); }

void Engine::note(const packet::Packet& packet, const Noted& noted) { core_->note(packet, noted); }

void Engine::visit(const std::function<void(std::uint32_t, const FlowFacts&)>& see) const {
  core_->visit(see);
}

void Engine::glance(const std::function<void(std::uint32_t, const Glance&)>& see) const {
  core_->glance(see);
}

FlowFacts Engine::facts(std::uint32_t slot) const { return core_->facts(slot); }

void Engine::drain(bool all,
                   const std::function<void(std::uint32_t, std::uint8_t, const Bin&)>& see) {
  core_->drain(all, see);
}

std::vector<Bin> Engine::course(std::uint32_t slot, std::uint8_t direction) const {
  return core_->course(slot, direction);
}

const Remainder& Engine::remainder() const { return core_->remainder(); }
std::size_t Engine::flows() const { return core_->flows(); }

void Engine::on_fold(std::function<void(std::uint32_t, const FlowFacts&)> call) {
  core_->on_fold(std::move(call));
}

}  // namespace chokepoint::capture::flow
