// What probe path shows to people: for each family the hops of both ways beside each other, then
// what follows from them.
#pragma once

#include "base/cli/context.h"
#include "probe/commands/path_report.h"

namespace chokepoint::probe {

void print_page(const cli::Context& context, const PathFindings& found);

}  // namespace chokepoint::probe
