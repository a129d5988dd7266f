// A preflight for people at a terminal: the verdict in a line, findings, the rates between hosts,
// and the hosts that are missing. Written to the context's output; no state.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/context.h"
#include "preflight/judge/judge.h"
#include "preflight/judge/limits.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight {

// With `all` every check in full, those that passed, and each test that came to nothing.
void print_page(const cli::Context& context, const Measured& measured, const Judgement& judgement,
                bool all);

using SummaryLine = std::pair<std::string, std::string>;  // "round trip", "0.08 ms …"

// What was measured beside throughput, a line each: round trips, loss, the largest packet, clocks,
// RDMA, cuts, the collective operation.
std::vector<SummaryLine> summary_of(const Measured& measured);

// "gpu4 to gpu7 | gpu0 to gpu3": hosts next to each other are joined.
std::string hosts_in_words(const Measured& measured, const std::vector<HostIndex>& hosts);

enum class HeatState : std::uint8_t { Untested, Own, Failed, Measured };

struct HeatCell {
  HeatState state = HeatState::Untested;
  Figure mbps = {};
  Figure share = {};  // of what was to be expected
};

// The share of its expected rate that each way reached: rows send, columns receive.
struct HeatMap {
  std::vector<HostIndex> hosts = {};
  std::vector<HeatCell> cells = {};  // row by row
  std::size_t left_out = 0;          // present hosts for which there was no room

  const HeatCell& at(std::size_t row, std::size_t column) const {
    return cells.at(row * hosts.size() + column);
  }
};

// Below the first share a path is coloured as slow, below the second as very slow.
inline constexpr auto kFairShare = static_cast<float>(kDefaultLinkShare);
inline constexpr auto kPoorShare = static_cast<float>(kDefaultLinkCriticalShare);

// Of at most `most` hosts, those with the worst ways, in the order in which they were given.
HeatMap heat_map(const Measured& measured, std::size_t most);

// Numbers if there is room, else a letter for each way; in colour if the terminal has it. Prints
// nothing if no pair was measured.
void print_heat_map(const cli::Context& context, const Measured& measured);

}  // namespace chokepoint::preflight
