// What 'chokepoint probe path' found and how it is shown: the document chokepoint.probe.path/1, and
// for people the hops of both directions beside each other. One thread.
#pragma once

#include <optional>
#include <string>

#include "base/cli/context.h"
#include "base/documents/probe_path.h"
#include "base/net/address.h"
#include "probe/path/exchange.h"
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

documents::ProbePath document_of(const PathFindings& found);

void print_page(const cli::Context& context, const PathFindings& found);

}  // namespace chokepoint::probe
