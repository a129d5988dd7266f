// What a command is given instead of reaching for it: streams, clock, root folder, environment and
// what the terminal can do. Owned by the dispatcher, valid while the command runs; one thread.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>

#include "base/cli/terminal.h"
#include "base/sys/clock.h"
#include "base/sys/root.h"

namespace chokepoint::cli {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct Context {
  std::ostream& out;  // results; with --json one document and nothing else
  std::ostream& err;  // progress, messages, errors
  const sys::Clock& clock;
  sys::Root root;
  Environment environment;
  Terminal out_terminal;
  Terminal err_terminal;
  std::string version = {};  // of the program that runs the command
  bool json = false;
  bool quiet = false;
};

}  // namespace chokepoint::cli
