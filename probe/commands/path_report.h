// What probe path found, and the chokepoint.probe.path/1 document of it.
#pragma once

#include <optional>
#include <string>

#include "base/cli/output.h"
#include "probe/path/families.h"
#include "probe/path/outcome.h"

namespace chokepoint::probe {

struct PathFindings {
  path::HostFacts host = {};
  path::Parameters parameters = {};
  path::FamilyOutcome ipv4 = {};
  path::FamilyOutcome ipv6 = {};
  std::optional<std::string> dual_stack_finding = {};

  const path::FamilyOutcome& of(net::Family family) const {
    return family == net::Family::Ipv4 ? ipv4 : ipv6;
  }
};

// The family that the top of the document tells of: the first in the resolver's order that answers,
// else the first that has a route.
net::Family leading_family(const PathFindings& found);

// Into `document`, which has its head already.
void add_to(cli::Json& document, const PathFindings& found);

}  // namespace chokepoint::probe
