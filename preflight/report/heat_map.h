// Who reaches how much of what both links give, for a terminal: each row sends, each column
// receives. Where not all hosts find room, those with the worst ways. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "base/cli/context.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

enum class HeatState : std::uint8_t { Untested, Own, Failed, Measured };

struct HeatCell {
  HeatState state = HeatState::Untested;
  Figure mbps = {};
  Figure share = {};  // of what was to be expected
};

struct HeatMap {
  std::vector<HostIndex> hosts = {};
  std::vector<HeatCell> cells = {};  // row by row
  std::size_t left_out = 0;          // hosts that were there and found no room

  const HeatCell& at(std::size_t row, std::size_t column) const {
    return cells.at(row * hosts.size() + column);
  }
};

// Below these shares a way stands out, and stands out badly.
inline constexpr float kFairShare = 0.8F;
inline constexpr float kPoorShare = 0.5F;

// Of at most so many hosts, in the order in which they were given.
HeatMap heat_map(const Measured& measured, std::size_t most);

// Numbers where there is room, else a letter a way; colour where the terminal welcomes it. Nothing
// where no pair was measured.
void print_heat_map(const cli::Context& context, const Measured& measured);

}  // namespace chokepoint::preflight
