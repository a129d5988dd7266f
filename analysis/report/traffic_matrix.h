// Who sends how much to whom: the payload of the job's connections between each two names, summed.
// Values; traffic_matrix() is pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/report/flow_table.h"

namespace chokepoint::analysis {

template <class T>
using Square = std::vector<std::vector<std::optional<T>>>;

struct TrafficMatrix {
  std::vector<std::string> names = {};  // nodes, then addresses of those without a record; of many
                                        // the last stands for all that are not named
  // Row sends, column receives; unknown where nothing was seen.
  Square<std::int64_t> bytes = {};
  Square<double> throughput_mbps = {};  // over the run
  std::string source = {};
};

// `run_s`: how long the run took; unknown or 0 leaves throughput unknown.
TrafficMatrix traffic_matrix(const RunData& run, const FlowTable& table,
                             std::optional<double> run_s);

}  // namespace chokepoint::analysis
