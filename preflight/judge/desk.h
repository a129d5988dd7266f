// What each part of the judgement is given and where it puts what it found. A part marks the ways
// it has explained, so that those behind it do not name a second cause for the same trouble. One
// thread.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "preflight/judge/earlier.h"
#include "preflight/judge/expectation.h"
#include "preflight/judge/finding.h"
#include "preflight/judge/scene.h"
#include "preflight/judge/speeds.h"

namespace chokepoint::preflight {

struct JudgeContext {
  const ClusterInput& scene;
  const Earlier& earlier;
  const Expectations& expectations;
  const Speeds& speeds;
  // So busy while rates were measured that what is slow then proves nothing of the network.
  bool is_short_of_processors = false;
  std::vector<bool> explained = {};  // by way: why its rate is low is known already
  std::vector<Finding> findings = {};

  void explain(const std::vector<WayIndex>& ways) {
    for (const WayIndex way : ways) {
      explained[way] = true;
    }
  }
  bool has(std::string_view id, checks::Status at_least) const {
    return std::ranges::any_of(findings, [&](const Finding& one) {
      return one.check.id == id && one.check.status >= at_least;
    });
  }
};

}  // namespace chokepoint::preflight
