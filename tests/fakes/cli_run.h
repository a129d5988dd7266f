// A program of made-up commands run in this process: words in; exit code, output and errors out.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/cli/dispatch.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::fakes {

struct CliRun {
  cli::ExitCode code = cli::ExitCode::Done;
  std::string out;
  std::string err;
};

inline CliRun run_cli(const cli::Program& program, const std::vector<std::string>& words,
                      const sys::Root& root = sys::Root("/nowhere"),
                      bool has_file_privileges = false) {
  std::ostringstream out;
  std::ostringstream err;
  const ManualClock clock;
  cli::Context context{.out = out,
                       .err = err,
                       .clock = clock,
                       .root = root,
                       .environment = [](const std::string&) { return std::nullopt; },
                       .out_terminal = {},
                       .err_terminal = {},
                       .has_file_privileges = has_file_privileges};
  const cli::ExitCode code = cli::dispatch(program, words, context);
  return {code, out.str(), err.str()};
}

}  // namespace chokepoint::fakes
