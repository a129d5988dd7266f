// The commands that are no probes (kinds.h has those): doctor and serve. Each command is one source
// named like it; a long answer has a source of its own (*_page.cc).
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/cli/command.h"
#include "base/control/service.h"

namespace chokepoint::probe {

cli::CommandFactory doctor_command();

using ServiceFactory = std::function<std::unique_ptr<control::Service>()>;
// `others`: kinds of tests that are not the probes' own, offered beside them.
cli::CommandFactory serve_command(std::vector<ServiceFactory> others = {});

}  // namespace chokepoint::probe
