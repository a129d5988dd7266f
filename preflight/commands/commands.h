// chokepoint preflight: is any host, link, slot or path of a cluster not what it should be? And
// chokepoint ask: one test, run on another host by its server.
#pragma once

#include "base/cli/command.h"

namespace chokepoint::preflight {

cli::CommandFactory ask_command();
cli::CommandFactory preflight_command();

}  // namespace chokepoint::preflight
