// What the job's flows on one captured interface sent and received.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/record/sink.h"
#include "capture/flow/slot_table.h"
#include "capture/observer/analyser.h"
#include "capture/observer/membership.h"

namespace chokepoint::capture::tap {

struct VolumeCounts {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_packets = 0;
  std::uint64_t retransmitted_packets = 0;  // of those that were sent

  VolumeCounts& operator+=(const VolumeCounts& more) {
    sent_bytes += more.sent_bytes;
    received_bytes += more.received_bytes;
    sent_packets += more.sent_packets;
    retransmitted_packets += more.retransmitted_packets;
    return *this;
  }
};

// The two counters of the record that have what the job sent and received: of an interface, or as
// its sockets report it.
class VolumeSeries {
 public:
  // The sink outlives it.
  VolumeSeries(record::Sink& sink, const std::string& producer, const std::string& subject,
               const std::string& source);

  void push(std::int64_t now_ns, std::uint64_t sent_bytes, std::uint64_t received_bytes);

 private:
  record::Producer producer_;
  std::int64_t sent_;
  std::int64_t received_;
};

// What the job sent and received over the interface, in Ethernet frames: summed over its flows,
// ended ones included, and recorded as counters that begin at 0. measure() and fold() on the
// analyser's thread, counts() on any.
class JobVolume {
 public:
  // The arguments outlive it.
  JobVolume(observer::Membership& flows, record::Sink& sink, const std::string& interface);

  void measure(observer::Analyser& analyser, std::int64_t now_ns);
  // The flow makes room for another.
  void fold(observer::Analyser& analyser, std::uint32_t slot, const flow::FlowFacts& facts);
  VolumeCounts counts() const;

 private:
  struct State {
    std::optional<bool> sends = {};  // the flow's a is the job's end here
    std::uint64_t checked_version = UINT64_MAX;
  };

  std::optional<bool> sends(observer::Analyser& analyser, std::uint32_t slot,
                            const packet::Ends& ends);
  void keep(const VolumeCounts& counts, std::int64_t now_ns);

  observer::Membership& flows_;
  std::optional<VolumeSeries> series_;  // none of loopback: that is no wire
  flow::SlotTable<State> states_;
  VolumeCounts folded_;
  mutable std::mutex mutex_;  // counts_
  VolumeCounts counts_;
  bool is_recorded_ = false;
};

}  // namespace chokepoint::capture::tap
