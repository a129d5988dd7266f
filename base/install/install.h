// chokepoint install: a program that was copied to a host as one file installs itself, the files
// that it carries, its manual pages and the completion of shells where a host's other programs
// have theirs, or removes them again. Under its name a file is complete or does not exist.
#pragma once

#include "base/cli/command.h"

namespace chokepoint::install {

cli::CommandFactory install_command();

}  // namespace chokepoint::install
