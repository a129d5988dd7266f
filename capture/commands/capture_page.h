// What a capture came to, for people: sums, flows, and what is remarkable.
#pragma once

#include <ostream>

#include "base/cli/context.h"
#include "capture/commands/findings.h"

namespace chokepoint::capture {

void print_page(std::ostream& out, const cli::Terminal& terminal, const Findings& findings);

}  // namespace chokepoint::capture
