#include "capture/observer/flow_timing.h"

#include <algorithm>

namespace chokepoint::capture::observer {
namespace {

// The final mix of MurmurHash3: equal at both ends, different for different numbers, and in no
// order even if a job sends the same bytes in each step.
std::uint32_t rank_of(std::uint32_t sequence) {
  std::uint32_t rank = sequence;
  rank = (rank ^ (rank >> 16U)) * 0x85ebca6b;
  rank = (rank ^ (rank >> 13U)) * 0xc2b2ae35;
  return rank ^ (rank >> 16U);
}

}  // namespace

void FlowMarks::choose(Side& side, const packet::Packet& packet) {
  if (side.best_ns == 0 || rank_of(packet.tcp.sequence) > rank_of(side.best_sequence)) {
    side.best_ns = packet.time_ns;
    side.best_sequence = packet.tcp.sequence;
  }
}

void FlowMarks::settle(Side& side, std::uint32_t slot, std::uint8_t direction, std::int64_t now_ns,
                       bool all) {
  const std::int64_t apart_ns = side.chosen < kFirstMarks ? kFirstApartNs : kApartNs;
  if (side.best_ns == 0 || (!all && now_ns - side.best_ns < apart_ns)) {
    return;
  }
  if (chosen_.size() < kMaxMarks) {
    chosen_.push_back({.time_ns = side.best_ns,
                       .slot = slot,
                       .sequence = side.best_sequence,
                       .direction = direction});
  }
  side.best_ns = 0;
  side.chosen = std::min<std::uint8_t>(side.chosen + 1, kFirstMarks);
}

void FlowMarks::settle(std::int64_t now_ns, bool all) {
  std::uint32_t slot = 0;
  for (Entry& entry : entries_.entries()) {
    settle(entry, slot++, now_ns, all);
  }
}

void FlowMarks::settle(Entry& entry, std::uint32_t slot, std::int64_t now_ns, bool all) {
  for (std::uint8_t direction = 0; direction < 2; ++direction) {
    settle(entry.sides.at(direction), slot, direction, now_ns, all);
  }
}

void FlowMarks::end(std::uint32_t slot) {
  if (entries_.find(slot) != nullptr) {
    settle(entries_[slot], slot, 0, true);
    entries_[slot] = {};
  }
}

}  // namespace chokepoint::capture::observer
