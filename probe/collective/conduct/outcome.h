// What was measured, size by size, as it is told afterwards. Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/math/statistics.h"
#include "probe/collective/communicator.h"
#include "probe/collective/fit.h"
#include "probe/collective/pattern.h"
#include "probe/collective/rendezvous/hub.h"

namespace chokepoint::probe::collective {

// What is asked for.
struct Plan {
  Collective collective = Collective::AllReduce;
  ElementType type = ElementType::Float32;
  std::vector<std::uint64_t> bytes = {};  // ascending; each is rounded up
  int root = 0;
  std::optional<int> warm_up = {};                          // nothing: a few, by how long one takes
  std::optional<int> iterations = {};                       // nothing: by time
  std::chrono::nanoseconds time = std::chrono::seconds(1);  // of each size
  bool check = true;
};

struct SizeResult {
  Operation operation = {};
  // Of each iteration: the slowest rank's.
  std::vector<double> times_us = {};
  std::optional<std::vector<Wrong>> wrong = {};  // nothing: not looked at

  bool is_wrong() const { return wrong && !wrong->empty(); }
};

// By the mean time, as others have it: bytes / time, and that times the collective's factor.
std::optional<double> algbw_mbps(const SizeResult& size);
std::optional<double> busbw_mbps(const SizeResult& size);

struct Outcome {
  std::vector<Newcomer> members = {};  // by rank
  std::vector<Way> ways = {};          // by rank; empty where it did not come to that
  std::vector<SizeResult> sizes = {};
};

// Over the sizes' median times.
Fit fit_of(const Outcome& outcome);
// The largest of all sizes.
std::optional<double> best_busbw_mbps(const Outcome& outcome);
bool is_wrong(const Outcome& outcome);

}  // namespace chokepoint::probe::collective
