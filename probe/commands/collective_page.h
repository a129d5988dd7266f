// What 'chokepoint probe collective' measured, and its page for people. The main thread alone.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/cli/context.h"
#include "base/documents/collective.h"
#include "base/host/settings.h"
#include "base/sys/error.h"

namespace chokepoint::probe {

struct CollectiveMeasured {
  documents::Collective document = {};
  std::map<std::string, host::Settings> hosts = {};  // how each is set up
  std::set<std::string> advice = {};                 // why another path is better, of all ranks
  std::optional<Error> failure = {};
};

void print_page(const cli::Context& context, const CollectiveMeasured& measured);

}  // namespace chokepoint::probe
