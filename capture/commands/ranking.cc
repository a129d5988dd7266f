#include "capture/commands/ranking.h"

#include <algorithm>
#include <tuple>

#include "capture/commands/units.h"

namespace chokepoint::capture {
namespace {

constexpr double kNsPerUs = 1e3;

struct Candidate {
  std::uint32_t slot = 0;
  Rates mbps{};
  double weight = 0;
};

bool is_heavier(const Candidate& one, const Candidate& other) { return one.weight > other.weight; }

double median_rtt(const flow::FlowFacts& facts) {
  const auto& [forth, back] = facts.directions;
  return std::max(forth.rtt_ms ? forth.rtt_ms->median : 0, back.rtt_ms ? back.rtt_ms->median : 0);
}

double weight_of(const flow::Engine& engine, std::uint32_t slot, const flow::Glance& glance,
                 const Rates& mbps, SortBy sort) {
  const auto& [forth, back] = glance.tallies;
  switch (sort) {
    case SortBy::Bytes:
      return static_cast<double>(forth->bytes + back->bytes);
    case SortBy::Retransmissions:
      return static_cast<double>(forth->retransmitted_packets + back->retransmitted_packets);
    case SortBy::Rtt:
      return median_rtt(engine.facts(slot));
    case SortBy::Rate:
      break;
  }
  return mbps[0] + mbps[1];
}

// A heap with the least in front.
void offer(std::vector<Candidate>& heap, const Candidate& candidate, std::size_t most) {
  if (heap.size() == most) {
    if (most == 0 || !is_heavier(candidate, heap.front())) {
      return;
    }
    std::ranges::pop_heap(heap, is_heavier);
    heap.pop_back();
  }
  heap.push_back(candidate);
  std::ranges::push_heap(heap, is_heavier);
}

bool is_before(const RankedFlow& one, const RankedFlow& other) {
  return std::tuple(-one.weight, one.analyser, one.slot) <
         std::tuple(-other.weight, other.analyser, other.slot);
}

}  // namespace

std::vector<std::string> sort_names() { return {"rate", "bytes", "retransmissions", "rtt"}; }

SortBy sort_named(const std::string& name) {
  const std::vector<std::string> names = sort_names();
  return static_cast<SortBy>(std::ranges::find(names, name) - names.begin());
}

std::size_t RankedFlow::main_direction() const {
  const auto& [forth, back] = facts.directions;
  return back.payload_bytes > forth.payload_bytes ? 1 : 0;
}

void rank(const flow::Engine& engine, std::size_t analyser, const RankBy& by,
          std::vector<RankedFlow>& flows) {
  std::vector<Candidate> heaviest;
  engine.glance([&](std::uint32_t slot, const flow::Glance& glance) {
    const Rates mbps = by.rates(slot, glance);
    offer(heaviest, {slot, mbps, weight_of(engine, slot, glance, mbps, by.sort)}, by.most);
  });
  for (const Candidate& each : heaviest) {
    flows.push_back({.facts = engine.facts(each.slot),
                     .mbps = each.mbps,
                     .analyser = analyser,
                     .slot = each.slot,
                     .weight = each.weight});
  }
  std::ranges::sort(flows, is_before);
  flows.resize(std::min(flows.size(), by.most));
}

Rates lifetime_rates(std::uint32_t, const flow::Glance& glance) {
  const auto microseconds = static_cast<double>(glance.end_ns - glance.start_ns) / kNsPerUs;
  const auto rate = [&](const flow::Tally* tally) {
    return microseconds > 0 ? static_cast<double>(tally->payload_bytes) * kBits / microseconds : 0;
  };
  return {rate(glance.tallies[0]), rate(glance.tallies[1])};
}

}  // namespace chokepoint::capture
