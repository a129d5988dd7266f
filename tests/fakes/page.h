// A page as a command prints it, where it is the function that is tested and not the command.
#pragma once

#include <functional>
#include <optional>
#include <sstream>
#include <string>

#include "base/cli/context.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::fakes {

inline std::string page_of(const std::function<void(const cli::Context&)>& print,
                           const cli::Terminal& terminal = {}) {
  std::ostringstream out;
  std::ostringstream err;
  const ManualClock clock;
  print({.out = out,
         .err = err,
         .clock = clock,
         .root = sys::Root("/nowhere"),
         .environment = [](const std::string&) { return std::nullopt; },
         .out_terminal = terminal,
         .err_terminal = {}});
  return out.str();
}

}  // namespace chokepoint::fakes
