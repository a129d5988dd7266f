// Which parts of exchanges are one collective, or the two ends of one message. Pure; any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/phases/exchanges.h"

namespace chokepoint::analysis {

// exchanges[list][place]
struct Part {
  std::size_t list = 0;
  std::size_t place = 0;
};

inline const Exchange& at(const Exchanges& exchanges, Part part) {
  return exchanges[part.list][part.place];
}

// The parts of one collective, of each rank that has one, or of one message: sender and receiver.
using Meeting = std::vector<Part>;

// Each part once, in the order in which the first part of each was over.
std::vector<Meeting> meetings_of(const Exchanges& exchanges);

}  // namespace chokepoint::analysis
