#include "capture/flow/engine.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "capture/flow/budget.h"
#include "capture/flow/flow.h"
#include "capture/flow/tcp.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::flow {

// Holds the flows, one per slot, in chunks that never move, in the order in which they were last
// active. The order is kept to about a tenth of a second, so that busy flows are not reordered with
// every packet.
class Pool {
 public:
  std::uint32_t make();
  void remove(std::uint32_t slot);

  Flow& operator[](std::uint32_t slot) {
    return chunks_[slot >> kChunkBits][slot & ((1U << kChunkBits) - 1)];
  }
  const Flow& operator[](std::uint32_t slot) const {
    return chunks_[slot >> kChunkBits][slot & ((1U << kChunkBits) - 1)];
  }

  // `flow` is the one in this slot.
  void touch(Flow& flow, std::uint32_t slot, std::int64_t time_ns) {
    const std::int64_t tick = time_ns >> kTickBits;
    if (flow.tick != tick) {
      flow.tick = tick;
      unlink(flow);
      link_newest(flow, slot);
    }
  }

  std::size_t size() const { return size_; }
  std::uint32_t oldest() const { return oldest_; }
  // The flow that was active next after this one; kNoSlot after the newest.
  std::uint32_t newer(std::uint32_t slot) const { return (*this)[slot].newer; }

 private:
  static constexpr int kTickBits = 27;
  static constexpr std::uint32_t kChunkBits = 6;

  void unlink(const Flow& gone);
  void link_newest(Flow& linked, std::uint32_t slot);

  std::vector<std::unique_ptr<Flow[]>> chunks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t oldest_ = kNoSlot;
  std::uint32_t newest_ = kNoSlot;
  std::uint32_t made_ = 0;
  std::size_t size_ = 0;
};

// A cache of the flows of the latest packets, one entry for each direction, indexed by the ports:
// most packets belong to one of few flows, and then neither their key is made nor the table
// searched, which is a chain of dependent loads. Ends are compared by value, as keys in the table.
class Recent {
 public:
  struct alignas(packet::kCacheLine) CachedFlow {
    Flow* flow = nullptr;
    std::uint32_t slot = 0;
    std::uint32_t direction = 0;  // of the flow's half that sends from these ends
    packet::Ends ends{};
  };

  // The flow of these ends; null if it is not cached.
  const CachedFlow* find(const packet::Ends& ends) const {
    const CachedFlow& cached = cached_[index(ends.source_port, ends.destination_port)];
    return cached.flow != nullptr && are_same(cached.ends, ends) ? &cached : nullptr;
  }

  const CachedFlow& put(const packet::Ends& ends, Flow& flow, std::uint32_t slot,
                        unsigned direction) {
    CachedFlow& cached = cached_[index(ends.source_port, ends.destination_port)];
    cached = {.flow = &flow, .slot = slot, .direction = direction, .ends = ends};
    return cached;
  }

  // Both directions.
  void forget(const packet::Ends& ends) {
    cached_[index(ends.source_port, ends.destination_port)].flow = nullptr;
    cached_[index(ends.destination_port, ends.source_port)].flow = nullptr;
  }

 private:
  static constexpr int kBits = 9;

  static std::size_t index(std::uint32_t source_port, std::uint32_t destination_port) {
    constexpr std::uint32_t kOdd = 0x9e3779b1;
    return ((source_port << 16 | destination_port) * kOdd) >> (32 - kBits);
  }

  // What a key is made of. Word by word: a call of memcmp() costs more than the comparison.
  static bool are_same(const packet::Ends& a, const packet::Ends& b) {
    const std::uint64_t differences =
        (a.source.words[0] ^ b.source.words[0]) | (a.source.words[1] ^ b.source.words[1]) |
        (a.destination.words[0] ^ b.destination.words[0]) |
        (a.destination.words[1] ^ b.destination.words[1]) |
        static_cast<std::uint64_t>((a.source_port ^ b.source_port) |
                                   (a.destination_port ^ b.destination_port) |
                                   (a.protocol ^ b.protocol)) |
        (a.tunnel ^ b.tunnel);
    return differences == 0;
  }

  std::array<CachedFlow, std::size_t{1} << kBits> cached_{};
};

// Finds a flow's slot by its key: open addressing with linear probing, at most half full. The upper
// half of the hash is kept beside the slot, so that keys are only compared if they are very likely
// equal.
class Table {
 public:
  explicit Table(const Pool& pool);

  std::uint64_t hash(const Key& key) const { return hash_of(key, secret_); }

  // The slot of this key's flow, or kNoSlot.
  std::uint32_t find(const Key& key, std::uint64_t hash) const {
    for (std::size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const Bucket& bucket = buckets_[at];
      if (bucket.slot == kNoSlot) {
        return kNoSlot;
      }
      if (bucket.hash == static_cast<std::uint32_t>(hash >> 32) && pool_[bucket.slot].key == key) {
        return bucket.slot;
      }
    }
  }

  // From now on the key's flow is in this slot.
  void put(const Key& key, std::uint64_t hash, std::uint32_t slot);
  // Removes the key if it leads to this slot.
  void remove(const Key& key, std::uint32_t slot);

 private:
  struct Bucket {
    std::uint32_t hash = 0;
    std::uint32_t slot = kNoSlot;
  };

  void grow();
  void close_gap(std::size_t gap);

  const Pool& pool_;
  std::uint64_t secret_;
  std::vector<Bucket> buckets_;
  std::size_t mask_;
  std::size_t used_ = 0;
};

namespace {

constexpr std::size_t kFirstBuckets = 1'024;

std::uint64_t draw_secret() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

constexpr std::uint8_t kCongestionExperienced = 3;  // ECN

// What every packet adds to its direction, of any protocol: packets, bytes, marks.
void count_volume(Half& half, const packet::Packet& packet, const Keeping& keeping) {
  const auto wire = packet::on_the_wire(packet, half.segment.bytes());
  Tally& tally = half.tally;
  if (tally.frames == 0) [[unlikely]] {
    tally.first_ns = tally.last_ns = packet.time_ns;
  }
  tally.last_ns = std::max(tally.last_ns, packet.time_ns);
  const bool is_marked = packet.congestion_bits == kCongestionExperienced;
  if (is_marked) [[unlikely]] {
    ++tally.congestion_marks;
  }
  ++tally.frames;
  tally.packets += wire.segments;
  tally.bytes += wire.bytes;
  tally.frame_bytes += packet.frame_bytes;
  tally.payload_bytes += packet.payload_bytes;
  if (keeping.series) {
    Bin& bin = made(half.series, keeping.budget).at(packet.time_ns);
    bin.packets += wire.segments;
    bin.bytes += wire.bytes;
    bin.payload_bytes += packet.payload_bytes;
    bin.congestion_marks += is_marked ? 1 : 0;
  }
}

// Of this many longest idle flows, the smallest is folded first.
constexpr int kCandidates = 8;
// With no more flows than these, none is folded for the memory of its details.
constexpr std::size_t kMinFlows = 16;

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

std::uint32_t Pool::make() {
  std::uint32_t slot = made_;
  if (free_.empty()) {
    if ((made_ & ((1U << kChunkBits) - 1)) == 0) {
      chunks_.push_back(std::make_unique<Flow[]>(std::size_t{1} << kChunkBits));
    }
    ++made_;
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  link_newest((*this)[slot], slot);
  ++size_;
  return slot;
}

void Pool::remove(std::uint32_t slot) {
  Flow& gone = (*this)[slot];
  unlink(gone);
  const std::uint32_t generation = gone.generation + 1;
  gone = Flow{};
  gone.generation = generation;
  free_.push_back(slot);
  --size_;
}

void Pool::unlink(const Flow& gone) {
  (gone.older == kNoSlot ? oldest_ : (*this)[gone.older].newer) = gone.newer;
  (gone.newer == kNoSlot ? newest_ : (*this)[gone.newer].older) = gone.older;
}

void Pool::link_newest(Flow& linked, std::uint32_t slot) {
  linked.older = newest_;
  linked.newer = kNoSlot;
  (newest_ == kNoSlot ? oldest_ : (*this)[newest_].newer) = slot;
  newest_ = slot;
}

Table::Table(const Pool& pool)
    : pool_(pool), secret_(draw_secret()), buckets_(kFirstBuckets), mask_(kFirstBuckets - 1) {}

void Table::put(const Key& key, std::uint64_t hash, std::uint32_t slot) {
  if (2 * (used_ + 1) > buckets_.size()) {
    grow();
  }
  const auto high = static_cast<std::uint32_t>(hash >> 32);
  std::size_t at = hash & mask_;
  while (buckets_[at].slot != kNoSlot &&
         (buckets_[at].hash != high || pool_[buckets_[at].slot].key != key)) {
    at = (at + 1) & mask_;
  }
  used_ += buckets_[at].slot == kNoSlot ? 1 : 0;
  buckets_[at] = {.hash = high, .slot = slot};
}

void Table::remove(const Key& key, std::uint32_t slot) {
  for (std::size_t at = hash(key) & mask_; buckets_[at].slot != kNoSlot; at = (at + 1) & mask_) {
    if (buckets_[at].slot == slot) {
      buckets_[at] = {};
      --used_;
      close_gap(at);
      return;
    }
  }
}

// Moves entries back that a search would no longer reach.
void Table::close_gap(std::size_t gap) {
  for (std::size_t at = (gap + 1) & mask_; buckets_[at].slot != kNoSlot; at = (at + 1) & mask_) {
    const std::size_t home = hash(pool_[buckets_[at].slot].key) & mask_;
    if (((at - home) & mask_) >= ((at - gap) & mask_)) {
      buckets_[gap] = std::exchange(buckets_[at], {});
      gap = at;
    }
  }
}

void Table::grow() {
  std::vector<Bucket> old = std::exchange(buckets_, std::vector<Bucket>(buckets_.size() * 2));
  mask_ = buckets_.size() - 1;
  for (const Bucket& bucket : old) {
    if (bucket.slot == kNoSlot) {
      continue;
    }
    std::size_t at = hash(pool_[bucket.slot].key) & mask_;
    while (buckets_[at].slot != kNoSlot) {
      at = (at + 1) & mask_;
    }
    buckets_[at] = bucket;
  }
}

struct Engine::Core {
  explicit Core(const Limits& given) : limits(given), table(pool) {}

  [[gnu::always_inline]] const Seen& take(const packet::Packet& packet) {
    if (!is_flow(packet.kind)) {
      seen = {};
      return seen;
    }
    const Recent::CachedFlow* cached = recent.find(packet.ends);
    if (cached == nullptr || is_another(*cached->flow, cached->direction, packet)) {
      cached = &look_up(packet);
    }
    Flow& flow = *cached->flow;
    seen.slot = cached->slot;
    pool.touch(flow, cached->slot, packet.time_ns);
    take(flow, cached->direction, packet);
    if (budget.used > limits.detail_bytes && pool.size() > kMinFlows) {
      fold_oldest();
    }
    return seen;
  }

  void note(const packet::Packet& packet, const Noted& noted) {
    Half& half = pool[seen.slot].halves.at(seen.direction);
    count_loss(half, packet, noted, {.budget = budget, .series = limits.keep_series});
  }

  [[gnu::noinline]] const Recent::CachedFlow& look_up(const packet::Packet& packet) {
    const Directed directed = key_of(packet.ends);
    const std::uint64_t hash = table.hash(directed.key);
    std::uint32_t slot = table.find(directed.key, hash);
    if (slot == kNoSlot ||
        is_another(pool[slot], pool[slot].direction_of(directed.from_low), packet)) {
      slot = make(directed, hash, packet);
      recent.forget(packet.ends);
    }
    Flow& flow = pool[slot];
    return recent.put(packet.ends, flow, slot, flow.direction_of(directed.from_low));
  }

  static bool is_another(const Flow& flow, unsigned direction, const packet::Packet& packet) {
    return packet.kind == packet::Kind::Tcp && begins_another(flow, direction, packet);
  }

  std::uint32_t make(const Directed& directed, std::uint64_t hash, const packet::Packet& packet) {
    if (pool.size() >= std::max<std::size_t>(limits.flows, 1)) {
      fold_oldest();
    }
    const std::uint32_t slot = pool.make();
    Flow& flow = pool[slot];
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
    table.put(flow.key, hash, slot);
    return slot;
  }

  void take(Flow& flow, unsigned direction, const packet::Packet& packet) {
    Half& half = flow.halves[direction];
    const Keeping keeping{.budget = budget, .series = limits.keep_series};
    flow.end_ns = std::max(flow.end_ns, packet.time_ns);
    Placed placed{};
    if (packet.kind == packet::Kind::Tcp) {
      half.segment.saw(packet.payload_bytes);
      placed = take_tcp(flow, half, flow.halves[1 - direction], packet, keeping);
    }
    // The same packet seen on another interface does not count again.
    if (!placed.is_copy || packet.interface == flow.interface) {
      count_volume(half, packet, keeping);
    }
    seen.generation = flow.generation;
    seen.direction = static_cast<std::uint8_t>(direction);
    seen.is_flow = true;
    seen.is_copy = placed.is_copy;
    seen.offset = placed.offset;
    seen.new_from = placed.new_from;
  }

  [[gnu::noinline]] void fold_oldest() {
    std::uint32_t chosen = pool.oldest();
    std::uint32_t candidate = chosen;
    const auto size = [this](std::uint32_t slot) {
      return pool[slot].halves[0].tally.bytes + pool[slot].halves[1].tally.bytes;
    };
    for (int i = 1; i < kCandidates && pool.newer(candidate) != kNoSlot; ++i) {
      candidate = pool.newer(candidate);
      chosen = size(candidate) < size(chosen) ? candidate : chosen;
    }
    fold(chosen);
  }

  void fold(std::uint32_t slot) {
    const Flow& flow = pool[slot];
    if (on_fold) {
      on_fold(slot, describe(flow));
    }
    ++remainder.flows;
    for (const Half& half : flow.halves) {
      remainder.packets += half.tally.packets;
      remainder.bytes += half.tally.bytes;
      remainder.payload_bytes += half.tally.payload_bytes;
      remainder.retransmitted_packets += half.tally.retransmitted_packets;
      remainder.retransmitted_bytes += half.tally.retransmitted_bytes;
    }
    recent.forget(flow.ends);
    table.remove(flow.key, slot);
    pool.remove(slot);
  }

  Limits limits;
  Budget budget{};  // destroyed after the flows, which return their shares
  Pool pool;
  Table table;
  Recent recent{};
  Seen seen{};
  Remainder remainder{};
  std::function<void(std::uint32_t, const FlowFacts&)> on_fold;
};

Engine::Engine(const Limits& limits) : core_(std::make_unique<Core>(limits)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

const Seen& Engine::take(const packet::Packet& packet) { return core_->take(packet); }

void Engine::note(const packet::Packet& packet, const Noted& noted) { core_->note(packet, noted); }

void Engine::visit(const std::function<void(std::uint32_t, const FlowFacts&)>& see) const {
  const Pool& pool = core_->pool;
  for (std::uint32_t slot = pool.oldest(); slot != kNoSlot; slot = pool.newer(slot)) {
    see(slot, describe(pool[slot]));
  }
}

void Engine::glance(const std::function<void(std::uint32_t, const Glance&)>& see) const {
  const Pool& pool = core_->pool;
  for (std::uint32_t slot = pool.oldest(); slot != kNoSlot; slot = pool.newer(slot)) {
    const Flow& flow = pool[slot];
    see(slot, {.ends = flow.ends,
               .kind = flow.kind,
               .start_ns = flow.start_ns,
               .end_ns = flow.end_ns,
               .tallies = {&flow.halves[0].tally, &flow.halves[1].tally}});
  }
}

FlowFacts Engine::facts(std::uint32_t slot) const { return describe(core_->pool[slot]); }

void Engine::drain(bool all,
                   const std::function<void(std::uint32_t, std::uint8_t, const Bin&)>& see) {
  Pool& pool = core_->pool;
  for (std::uint32_t slot = pool.oldest(); slot != kNoSlot; slot = pool.newer(slot)) {
    for (std::uint8_t direction = 0; direction < 2; ++direction) {
      if (const auto& series = pool[slot].halves[direction].series) {
        series->drain(all, [&](const Bin& bin) { see(slot, direction, bin); });
      }
    }
  }
}

std::vector<Bin> Engine::bins(std::uint32_t slot, std::uint8_t direction) const {
  const auto& series = core_->pool[slot].halves[direction].series;
  return series ? series->bins() : std::vector<Bin>{};
}

const Remainder& Engine::remainder() const { return core_->remainder; }
std::size_t Engine::flows() const { return core_->pool.size(); }

void Engine::on_fold(std::function<void(std::uint32_t, const FlowFacts&)> call) {
  core_->on_fold = std::move(call);
}

}  // namespace chokepoint::capture::flow
