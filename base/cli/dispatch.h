// From argv to an exit code: finds the command, parses its flags, runs it, prints the one line of
// an error. The only place that prints errors and decides exit codes. Called by main.
#pragma once

#include <string>
#include <vector>

#include "base/cli/command.h"

namespace chokepoint::cli {

struct Program {
  std::string name;     // "chokepoint"
  std::string version;  // "0.1.0"
  std::string purpose;  // one line
  Registry commands;
};

// Words after the program's name. Never throws.
ExitCode dispatch(const Program& program, const std::vector<std::string>& words, Context& context);

// The same over the process's own streams, clock, root and environment.
int dispatch(const Program& program, int argc, char** argv);

}  // namespace chokepoint::cli
