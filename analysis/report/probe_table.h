// What probes measured beside what the job reached on the same path, a row for each number that can
// be compared. Values; probe_table() is pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report/path_picture.h"

namespace chokepoint::analysis {

struct ProbeLine {
  std::string node = {};  // that ran it
  std::string kind = {};
  std::string peer = {};       // the other node, else what the probe calls it
  std::string address = {};    // of the peer; empty: unknown
  std::string direction = {};  // "send", "receive", as the node calls it; empty: both ways
  std::int64_t wall_ns = 0;
  std::string what = {};  // "throughput", "least round trip", "round trip under load", "loss"
  double probe_value = 0;
  std::optional<double> job_value = {};
  std::string unit = {};  // "mbps", "ms", "percent"
  std::string source = {};

  // Of what the probe reached; of throughput alone.
  std::optional<double> share_percent() const;
};

struct ProbeTable {
  std::vector<ProbeLine> lines = {};
  std::vector<std::string> remarks = {};  // for people: what could not be compared, and why
};

ProbeTable probe_table(const RunData& run, const std::vector<PathPicture>& paths);

}  // namespace chokepoint::analysis
