// A host's counters over a span, for those that reason about one host. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// 0 where the host has no such counter: one that never changed is not in the record.
double grown(const NodeData& node, std::string_view name, std::string_view subject, Span span);
std::optional<double> last_level(const NodeData& node, std::string_view name,
                                 std::string_view subject);
std::optional<double> mean_over(const NodeData& node, std::string_view name,
                                std::string_view subject, Span span);

}  // namespace chokepoint::analysis
