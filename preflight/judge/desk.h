// What each part of the judgement is given and where it puts what it found. A part marks the ways
// it has explained, so that those behind it do not name a second cause for the same trouble. One
// thread.
#pragma once

#include <utility>
#include <vector>

#include "preflight/judge/earlier.h"
#include "preflight/judge/expectation.h"
#include "preflight/judge/finding.h"
#include "preflight/judge/scene.h"

namespace chokepoint::preflight {

struct Desk {
  const Scene& scene;
  const Earlier& earlier;
  const Expectations& expectations;
  std::vector<bool> explained;  // by way: why its rate is low is known already
  std::vector<Finding> findings = {};

  void explain(const std::vector<WayIndex>& ways) {
    for (const WayIndex way : ways) {
      explained[way] = true;
    }
  }
};

}  // namespace chokepoint::preflight
