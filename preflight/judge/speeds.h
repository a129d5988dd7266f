// How each way does against what it should carry. A way that was slow in its round and not tested
// again is taken for what its hosts' other ways turned out to be, alone. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "preflight/judge/expectation.h"
#include "preflight/judge/scene.h"

namespace chokepoint::preflight {

enum class Speed : std::uint8_t {
  Unknown,  // not tested, or nobody knows what it should be
  Well,
  Slow,
  Shared,  // in its round, and well alone
};

// By way.
struct Speeds {
  std::vector<Expectation> expected = {};
  std::vector<double> least = {};
  std::vector<Speed> speed = {};
};

Speeds speeds_of(const ClusterInput& scene, const Expectations& expectations);

}  // namespace chokepoint::preflight
