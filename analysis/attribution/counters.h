// A host's counters over a span, for those that reason about one host. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// 0 where the host has no such counter: one that never changed is not in the record.
double grown(const NodeData& node, std::string_view name, std::string_view subject, Span span);
std::optional<double> last_level(const NodeData& node, std::string_view name,
                                 std::string_view subject);
// The GPUs on which processes of the job computed. A container's processes are not known to the
// driver by their numbers: where NCCL worked and nobody is known, those that did something.
std::set<std::string> job_gpus(const NodeData& node, Span span);

// A level's value, and how long within the span it held.
struct Held {
  Span span = {};
  double value = 0;
};
std::vector<Held> levels_over(const SeriesData& level, Span span);

std::optional<double> mean_over(const NodeData& node, std::string_view name,
                                std::string_view subject, Span span);

}  // namespace chokepoint::analysis
