// What the job sent and received over one interface, in Ethernet frames: summed over its flows,
// those that are gone included, and kept in the record as counters that begin at 0. measure() and
// fold() on the analyser's thread, counts() on any.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/record/writer.h"
#include "capture/observer/analyser.h"
#include "capture/run/job_flows.h"

namespace chokepoint::capture::run {

struct VolumeCounts {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_packets = 0;
  std::uint64_t retransmitted_packets = 0;  // of those that were sent
};

class JobVolume {
 public:
  // The writer outlives it.
  JobVolume(JobFlows flows, record::Writer& writer, std::string interface);

  void measure(observer::Analyser& analyser, std::int64_t now_ns);
  // The flow makes room for another.
  void fold(observer::Analyser& analyser, std::uint32_t slot, const flow::FlowFacts& facts);
  VolumeCounts counts() const;

 private:
  struct State {
    std::optional<bool> sends = {};            // the flow's a is the job's end here
    std::uint64_t asked_version = UINT64_MAX;  // of the book
  };

  State& state_of(std::uint32_t slot);
  std::optional<bool> sends(observer::Analyser& analyser, std::uint32_t slot,
                            const packet::Ends& ends);
  void keep(const VolumeCounts& counts, std::int64_t now_ns);

  JobFlows flows_;
  std::string interface_;
  record::Producer producer_;
  std::int64_t sent_series_;
  std::int64_t received_series_;
  std::vector<State> states_;
  VolumeCounts folded_;
  mutable std::mutex mutex_;  // counts_
  VolumeCounts counts_;
  bool is_kept_ = false;
};

}  // namespace chokepoint::capture::run
