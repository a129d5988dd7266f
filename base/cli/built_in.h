// What the program says of itself without any command: overview, version, completion, man pages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/cli/dispatch.h"
#include "base/cli/lookup.h"

namespace chokepoint::cli {

std::string overview_of(const Program& program, const std::vector<Registered>& commands, int width);

ExitCode print_version(const Program& program, Context& context);

// Nothing where the words ask for something else.
Result<std::optional<ExitCode>> run_built_in(const Program& program,
                                             const std::vector<Registered>& commands,
                                             const std::vector<std::string>& words,
                                             Context& context);

}  // namespace chokepoint::cli
