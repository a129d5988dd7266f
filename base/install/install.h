// chokepoint install: a program that was copied to a host as one file puts itself, what it carries,
// its manual pages and the completion of shells where a host's other programs have theirs, or takes
// them away again. A file is complete under its name, or not there.
#pragma once

#include "base/cli/command.h"

namespace chokepoint::install {

cli::CommandFactory install_command();

}  // namespace chokepoint::install
