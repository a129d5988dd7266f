// chokepoint init: makes what hosts need to test one another: a key, the file of defaults that
// names it, and the service that peers connect to. Existing files are kept.
#pragma once

#include <string_view>

#include "base/cli/command.h"

namespace chokepoint::install {

cli::CommandFactory init_command();

// The unit that runs `chokepoint serve`: packaging/chokepoint.service.
std::string_view service_unit();

}  // namespace chokepoint::install
