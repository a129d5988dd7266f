// What 'chokepoint probe paths' measured and how it is shown (paths_page.cc): the document
// chokepoint.probe.paths/1, and for people what is wrong with which flows. One thread.
#pragma once

#include <chrono>
#include <string>

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "base/net/address.h"
#include "probe/paths/exchange.h"
#include "probe/paths/outcome.h"

namespace chokepoint::probe {

struct PathsShown {
  std::string peer = {};  // as the user named it
  net::Family family = net::Family::Ipv4;
  paths::Parameters parameters = {};
  paths::Expectation expectation = {};
  std::chrono::nanoseconds time = {};  // of the sweep
  paths::Outcome outcome = {};
  bool interrupted = false;
};

// Into `document`, which has its head and the peer already.
void add_to(cli::Json& document, const PathsShown& shown);

void print_page(const cli::Context& context, const PathsShown& shown);

}  // namespace chokepoint::probe
