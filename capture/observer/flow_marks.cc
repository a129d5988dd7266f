#include "capture/observer/flow_marks.h"

namespace chokepoint::capture::observer {
namespace {

// The same at both ends, without two that are equal, and without order where a job sends the same
// bytes in each step: MurmurHash3's last mixing.
std::uint32_t rank_of(std::uint32_t sequence) {
  std::uint32_t rank = sequence;
  rank = (rank ^ (rank >> 16U)) * 0x85ebca6b;
  rank = (rank ^ (rank >> 13U)) * 0xc2b2ae35;
  return rank ^ (rank >> 16U);
}

}  // namespace

void FlowMarks::choose(Way& way, const packet::Packet& packet) {
  if (way.best_ns == 0 || rank_of(packet.tcp.sequence) > rank_of(way.best_sequence)) {
    way.best_ns = packet.time_ns;
    way.best_sequence = packet.tcp.sequence;
  }
}

void FlowMarks::settle(Way& way, std::uint32_t slot, std::uint8_t direction, std::int64_t now_ns,
                       bool all) {
  const std::int64_t apart_ns = way.chosen < kFirst ? kFirstApartNs : kApartNs;
  if (way.best_ns == 0 || (!all && now_ns - way.best_ns < apart_ns)) {
    return;
  }
  if (chosen_.size() < kMostWaiting) {
    chosen_.push_back({.time_ns = way.best_ns,
                       .slot = slot,
                       .sequence = way.best_sequence,
                       .direction = direction});
  }
  way.best_ns = 0;
  way.chosen = std::min<std::uint8_t>(way.chosen + 1, kFirst);
}

void FlowMarks::settle(std::int64_t now_ns, bool all) {
  for (std::uint32_t slot = 0; slot < entries_.size(); ++slot) {
    settle(entries_[slot], slot, now_ns, all);
  }
}

void FlowMarks::settle(Entry& entry, std::uint32_t slot, std::int64_t now_ns, bool all) {
  for (std::uint8_t direction = 0; direction < 2; ++direction) {
    settle(entry.ways.at(direction), slot, direction, now_ns, all);
  }
}

void FlowMarks::end(std::uint32_t slot) {
  if (slot < entries_.size()) {
    settle(entries_[slot], slot, 0, true);
    entries_[slot] = {};
  }
}

}  // namespace chokepoint::capture::observer
