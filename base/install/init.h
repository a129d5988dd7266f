// chokepoint init: what hosts that test one another have in common: a key, the file of defaults
// that names it, and the service that peers talk to. What is there already is kept.
#pragma once

#include <string_view>

#include "base/cli/command.h"

namespace chokepoint::install {

cli::CommandFactory init_command();

// The unit that runs `chokepoint serve`: packaging/chokepoint.service.
std::string_view service_unit();

}  // namespace chokepoint::install
