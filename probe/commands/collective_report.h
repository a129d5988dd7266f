// What a collective's measurement amounts to: the document, and the page for people. Pure, but for
// what is printed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "probe/collective/conduct/outcome.h"

namespace chokepoint::probe {

struct CollectiveMeasured {
  std::string backend = {};
  std::string launcher = {};  // who started the ranks
  collective::Plan plan = {};
  int ranks = 1;
  collective::Outcome outcome = {};
  std::vector<std::string> missed = {};  // of the thresholds, in words
  bool interrupted = false;
  std::optional<Error> failure = {};
};

void add_to(cli::Json& document, const CollectiveMeasured& measured);
void print_page(const cli::Context& context, const CollectiveMeasured& measured);

}  // namespace chokepoint::probe
