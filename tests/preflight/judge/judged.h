// What a test asks of a judgement: which findings there are, and that there are no others.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "preflight/judge/judge.h"
#include "tests/preflight/judge/made_cluster.h"

namespace chokepoint::preflight {

// "link.rate: gpu3 eth0" of everything from WARNING on.
inline std::vector<std::string> troubles_of(const Judgement& judgement) {
  std::vector<std::string> result;
  for (const Finding& finding : judgement.findings) {
    if (finding.check.status >= checks::Status::Warning) {
      result.push_back(finding.check.id + ": " + finding.check.subject);
    }
  }
  return result;
}

inline std::vector<std::string> troubles_of(const Cluster& cluster, const Limits& limits = {}) {
  return troubles_of(judge(cluster.measured(), limits, nullptr));
}

// The only finding with this id; an empty one where there is none or several.
inline Finding only(const Judgement& judgement, const std::string& id) {
  Finding result;
  std::size_t found = 0;
  for (const Finding& finding : judgement.findings) {
    if (finding.check.id == id) {
      result = finding;
      ++found;
    }
  }
  return found == 1 ? result : Finding{};
}

}  // namespace chokepoint::preflight
