// A context whose output is kept, for what is printed of a made cluster.
#pragma once

#include <sstream>

#include "base/cli/context.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::preflight {

struct QuietContext {
  std::ostringstream out;
  std::ostringstream err;
  fakes::ManualClock clock;
  cli::Context context{.out = out,
                       .err = err,
                       .clock = clock,
                       .root = sys::Root("/"),
                       .environment = [](const std::string&) { return std::nullopt; },
                       .out_terminal = {},
                       .err_terminal = {}};
};

}  // namespace chokepoint::preflight
