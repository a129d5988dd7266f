// The job's flows on one captured interface: which they are (Membership), their rows in the record
// (JobRows) and what they sent and received (JobVolume).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/record/sink.h"
#include "capture/flow/slot_table.h"
#include "capture/observer/analyser.h"
#include "capture/observer/recorder.h"

namespace chokepoint::capture::tap {

// Which flows are the job's, as far as is known now: only who sees the job's sockets can tell. Any
// thread.
class Membership {
 public:
  virtual ~Membership() = default;
  // True if ends.source is the job's end here; nullopt if the flow is not the job's, or not yet
  // known to be.
  virtual std::optional<bool> sends(const packet::Ends& ends) = 0;
  // Changes whenever sends() may have another answer.
  virtual std::uint64_t version() const = 0;
  // The flow with these ends is over.
  virtual void forget(const packet::Ends& /*ends*/) {}
};

// Rows of the record: another flow than the job's gets one only if it is large enough to slow the
// job down. The analyser's thread; the arguments outlive it.
class JobRows final : public observer::RowKeeper {
 public:
  JobRows(record::Sink& sink, Membership& flows) : sink_(sink), flows_(flows) {}

  observer::RowPlace place(std::uint32_t slot, const flow::FlowFacts& facts,
                           record::Flow row) override;
  void update(std::uint32_t slot, const observer::RowPlace& place, record::Flow row) override;
  void leave(std::uint32_t slot, const observer::RowPlace& place) override;
  bool is_worth_asking(std::uint32_t slot) override;

 private:
  struct State {
    packet::Ends ends = {};
    std::uint64_t asked_version = UINT64_MAX;
    std::uint32_t passed_over = 0;
  };

  record::Sink& sink_;
  Membership& flows_;
  flow::SlotTable<State> states_;
};

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

// The two counters of the record that say what the job sent and received: of an interface, or as
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
  JobVolume(Membership& flows, record::Sink& sink, const std::string& interface);

  void measure(observer::Analyser& analyser, std::int64_t now_ns);
  // The flow makes room for another.
  void fold(observer::Analyser& analyser, std::uint32_t slot, const flow::FlowFacts& facts);
  VolumeCounts counts() const;

 private:
  struct State {
    std::optional<bool> sends = {};  // the flow's a is the job's end here
    std::uint64_t asked_version = UINT64_MAX;
  };

  std::optional<bool> sends(observer::Analyser& analyser, std::uint32_t slot,
                            const packet::Ends& ends);
  void keep(const VolumeCounts& counts, std::int64_t now_ns);

  Membership& flows_;
  std::optional<VolumeSeries> series_;  // none of loopback: that is no wire
  flow::SlotTable<State> states_;
  VolumeCounts folded_;
  mutable std::mutex mutex_;  // counts_
  VolumeCounts counts_;
  bool is_kept_ = false;
};

}  // namespace chokepoint::capture::tap
