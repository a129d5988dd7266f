// How checks look, to people and to programs.
#pragma once

#include "base/checks/check.h"
#include "base/cli/context.h"
#include "base/cli/document.h"

namespace chokepoint::checks {

cli::Json json_of(const Check& check);
cli::Json json_of(const Checks& checks);

// What is wrong, the worst first, with the reason and what to do; the rest in a line each. With
// `all` every finding in full, and what passed.
void print_page(const cli::Context& context, const Checks& checks, bool all);

}  // namespace chokepoint::checks
