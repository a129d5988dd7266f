// When the packets of flows pass: FlowMarks chooses packets by which the clocks of two hosts are
// compared, TrafficBins sums the job's bytes per millisecond, from which steps are found. Both are
// tables by the flow's slot, without search or lock. The analyser's thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/flow/engine.h"
#include "capture/flow/slot_table.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::observer {

struct FlowMark {
  std::int64_t time_ns = 0;
  std::uint32_t slot = 0;      // of the flow
  std::uint32_t sequence = 0;  // as in the packet
  std::uint8_t direction = 0;  // 0: a to b
};

// A mark is a packet with payload that a connection sends after a pause: then the path was empty,
// and both ends begin a frame with the same sequence number, whatever segments their hardware
// joins.
//
// Both ends have to choose the same packets, though each sees other times and may miss packets or
// begin later. So of the packets within some time, the one whose hashed sequence number is highest
// is chosen: a packet that one end missed changes a few choices, not all that follow.
//
// A few nanoseconds per packet. Bounded memory: a small entry per slot, and at most kMaxMarks.
class FlowMarks {
 public:
  static constexpr std::int64_t kPauseNs = 20'000'000;
  // Between two marks of a direction; kFirstApartNs for the first kFirstMarks of a flow.
  static constexpr std::int64_t kApartNs = 250'000'000;
  static constexpr std::int64_t kFirstApartNs = 50'000'000;
  static constexpr std::uint8_t kFirstMarks = 20;
  static constexpr std::size_t kMaxMarks = 4'096;

  // A TCP packet with payload.
  void take(const packet::Packet& packet, const flow::Seen& seen) {
    Side& side = entry_of(seen).sides.at(seen.direction);
    const std::int64_t pause_ns = packet.time_ns - side.sent_ns;
    const bool is_known = side.sent_ns != 0;
    const auto ahead = static_cast<std::int32_t>(packet.tcp.sequence - side.next);
    side.sent_ns = packet.time_ns;
    if (is_known && ahead < 0) {
      return;
    }
    side.next = packet.tcp.sequence + packet.payload_bytes;
    if (is_known && pause_ns >= kPauseNs) {
      settle(side, seen.slot, seen.direction, packet.time_ns);
      choose(side, packet);
    }
  }

  // Chooses where no better packet can come any more; `all`: everywhere. The cost is linear in the
  // number of flows.
  void settle(std::int64_t now_ns, bool all = false);
  // The slot is another flow's from now on.
  void end(std::uint32_t slot);
  // Since clear(), in no order.
  const std::vector<FlowMark>& chosen() const { return chosen_; }
  bool are_many() const { return chosen_.size() >= kMaxMarks / 2; }
  void clear() { chosen_.clear(); }

 private:
  // What one side of a flow sends.
  struct Side {
    std::int64_t sent_ns = 0;  // the last data; 0: never
    std::int64_t best_ns = 0;  // of the recent packets; 0: none
    std::uint32_t best_sequence = 0;
    std::uint32_t next = 0;   // sequence number behind the highest byte
    std::uint8_t chosen = 0;  // number of marks, kFirstMarks at most
  };

  struct Entry {
    std::uint32_t generation = 0;
    std::array<Side, 2> sides{};
  };

  Entry& entry_of(const flow::Seen& seen) {
    Entry& entry = entries_[seen.slot];
    if (entry.generation != seen.generation) {
      entry = {.generation = seen.generation};
    }
    return entry;
  }

  static void choose(Side& side, const packet::Packet& packet);
  void settle(Entry& entry, std::uint32_t slot, std::int64_t now_ns, bool all);
  void settle(Side& side, std::uint32_t slot, std::uint8_t direction, std::int64_t now_ns,
              bool all = false);

  flow::SlotTable<Entry> entries_;
  std::vector<FlowMark> chosen_;
};

struct TrafficBin {
  std::int64_t time_ns = 0;  // where the millisecond begins
  std::uint64_t bytes = 0;
  std::uint64_t all_bytes = 0;  // of all flows, where these are counted
};

// The watched job's bytes per millisecond. mark() says which flows are the job's.
class TrafficBins {
 public:
  void mark(std::uint32_t slot, bool is_job) { is_job_[slot] = is_job ? 1 : 0; }
  // Where the job may be unknown.
  void count_all() { counts_all_ = true; }

  void take(std::uint32_t slot, std::int64_t time_ns, std::uint32_t bytes) {
    const std::uint8_t* const is_job = is_job_.find(slot);
    const bool is_jobs = is_job != nullptr && *is_job != 0;
    if (!is_jobs && !counts_all_) {
      return;
    }
    const std::int64_t begins_ns = time_ns - time_ns % kMillisecondNs;
    if (bins_.empty() || bins_.back().time_ns != begins_ns) {
      bins_.push_back({.time_ns = begins_ns});
    }
    bins_.back().bytes += is_jobs ? bytes : 0;
    bins_.back().all_bytes += bytes;
  }

  // Those since clear(), in the order in which they came.
  const std::vector<TrafficBin>& bins() const { return bins_; }
  void clear() { bins_.clear(); }

 private:
  static constexpr std::int64_t kMillisecondNs = 1'000'000;

  flow::SlotTable<std::uint8_t> is_job_;
  bool counts_all_ = false;
  std::vector<TrafficBin> bins_;
};

}  // namespace chokepoint::capture::observer
