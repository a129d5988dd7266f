// The table of flows, live and at the end, and below it what is remarkable about them. Fits the
// terminal: where that is narrow, columns and the front of addresses go. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/table.h"
#include "capture/commands/ranking.h"

namespace chokepoint::capture {

std::string bytes_text(std::uint64_t bytes);  // 1.50 GB

cli::Table flow_table(const std::vector<RankedFlow>& flows, const cli::Terminal& terminal);

// "10.0.0.1:40112 > 10.0.0.2:5201: -> resent 0.8 % (fast); …", wrapped: what goes on stands further
// to the right.
std::vector<std::string> remarkable_lines(const std::vector<RankedFlow>& flows,
                                          const cli::Terminal& terminal);

}  // namespace chokepoint::capture
