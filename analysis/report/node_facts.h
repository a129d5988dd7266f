// One host's facts by what they are about. Borrows the node; pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// The last that was told; null where nobody did.
const record::Fact* fact_of(const NodeData& node, std::string_view category,
                            std::string_view subject, std::string_view key);

// Its value; empty where there is none.
std::string text_of(const NodeData& node, std::string_view category, std::string_view subject,
                    std::string_view key);
std::optional<double> number_of(const NodeData& node, std::string_view category,
                                std::string_view subject, std::string_view key);
std::optional<std::int64_t> count_of(const NodeData& node, std::string_view category,
                                     std::string_view subject, std::string_view key);

// In the order in which they were told; without the host itself, which is empty.
std::vector<std::string> subjects_of(const NodeData& node, std::string_view category);

}  // namespace chokepoint::analysis
