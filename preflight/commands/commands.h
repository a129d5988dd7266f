// chokepoint preflight: is any host, link, slot or path of a cluster not what it should be?
#pragma once

#include "base/cli/command.h"

namespace chokepoint::preflight {

cli::CommandFactory preflight_command();

}  // namespace chokepoint::preflight
