// Packets by which the clocks of two hosts can be compared: those with payload that a connection
// sends after a pause, so that the path was empty before them and both ends begin a frame with the
// same sequence number, however their hardware joins segments.
//
// Both ends have to choose the same ones, though each sees other times and may miss packets or
// begin later. So of those that come within a while, the one whose sequence number says so is
// chosen: what one end missed makes a difference for a few packets, not for all that follow.
//
// A few nanoseconds a packet: no search, no lock. Memory is bounded: a small entry a flow's slot,
// and so many marks as wait to be taken. One analyser's thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/flow/engine.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

struct FlowMark {
  std::int64_t time_ns = 0;
  std::uint32_t slot = 0;      // of the flow
  std::uint32_t sequence = 0;  // as in the packet
  std::uint8_t direction = 0;  // 0: a to b
};

class FlowMarks {
 public:
  static constexpr std::int64_t kPauseNs = 20'000'000;
  // Between two marks of a direction; while they are few, in a flow's first moments.
  static constexpr std::int64_t kApartNs = 250'000'000;
  static constexpr std::int64_t kFirstApartNs = 50'000'000;
  static constexpr std::uint8_t kFirst = 20;
  static constexpr std::size_t kMostWaiting = 4'096;

  // A TCP packet with payload.
  void take(const packet::Packet& packet, const flow::Seen& seen) {
    Way& way = entry_of(seen).ways.at(seen.direction);
    const std::int64_t pause_ns = packet.time_ns - way.sent_ns;
    const bool is_known = way.sent_ns != 0;
    const auto ahead = static_cast<std::int32_t>(packet.tcp.sequence - way.next);
    way.sent_ns = packet.time_ns;
    if (is_known && ahead < 0) {
      return;
    }
    way.next = packet.tcp.sequence + packet.payload_bytes;
    if (is_known && pause_ns >= kPauseNs) {
      settle(way, seen.slot, seen.direction, packet.time_ns);
      choose(way, packet);
    }
  }

  // Chooses where a better one can no longer come; `all`: everywhere. Costs as much as there are
  // flows.
  void settle(std::int64_t now_ns, bool all = false);
  // The slot is another flow's from now on.
  void end(std::uint32_t slot);
  // Since clear(), in no order.
  const std::vector<FlowMark>& chosen() const { return chosen_; }
  bool are_many() const { return chosen_.size() >= kMostWaiting / 2; }
  void clear() { chosen_.clear(); }

 private:
  // What one side of a flow sends.
  struct Way {
    std::int64_t sent_ns = 0;  // data, the last time; 0: never
    std::int64_t best_ns = 0;  // of those that came lately; 0: none did
    std::uint32_t best_sequence = 0;
    std::uint32_t next = 0;   // sequence number behind the highest byte
    std::uint8_t chosen = 0;  // so many, kFirst at most
  };

  struct Entry {
    std::uint32_t generation = 0;
    std::array<Way, 2> ways{};
  };

  Entry& entry_of(const flow::Seen& seen) {
    if (seen.slot >= entries_.size()) {
      entries_.resize(std::max<std::size_t>(std::size_t{seen.slot} + 1, entries_.size() * 2));
    }
    Entry& entry = entries_[seen.slot];
    if (entry.generation != seen.generation) {
      entry = {.generation = seen.generation};
    }
    return entry;
  }

  static void choose(Way& way, const packet::Packet& packet);
  void settle(Entry& entry, std::uint32_t slot, std::int64_t now_ns, bool all);
  void settle(Way& way, std::uint32_t slot, std::uint8_t direction, std::int64_t now_ns,
              bool all = false);

  std::vector<Entry> entries_;  // by slot
  std::vector<FlowMark> chosen_;
};

}  // namespace chokepoint::capture::observer
