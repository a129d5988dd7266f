// The paths that a job's data took between its nodes: who sent to whom, at which addresses, how
// fast, and what was lost. Probes' figures of a path are compared with it, and tests that confirm
// a verdict use it. Pure; any thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "analysis/limits/path_pace.h"
#include "analysis/load/run_data.h"
#include "analysis/timeline/clocks.h"

namespace chokepoint::analysis {

// One way.
struct JobPath {
  std::string from = {};  // node's name, or the address of one without a record
  std::string to = {};
  // Of the interfaces at both ends; the first of each is the connection's own.
  std::array<std::vector<std::string>, 2> addresses = {};
  PathPace pace = {};
  std::optional<double> rtt_ms = {};  // unloaded
  double bytes = 0;                   // of payload
  double packets = 0;
  double retransmitted = 0;

  // Of its packets; nullopt where none were counted.
  std::optional<double> loss_percent() const {
    return packets > 0 ? std::optional(100 * retransmitted / packets) : std::nullopt;
  }
};

std::vector<JobPath> job_paths(const RunData& run, const Clocks& clocks);

}  // namespace chokepoint::analysis
