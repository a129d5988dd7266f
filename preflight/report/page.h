// A preflight for people at a terminal: the verdict in a line, what was found, who reaches whom how
// fast, and who is not there. Pure functions.
#pragma once

#include "base/cli/context.h"
#include "preflight/judge/finding.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

// With `all` every check in full, those that passed, and each test that came to nothing.
void print_page(const cli::Context& context, const Measured& measured, const Judgement& judgement,
                bool all);

}  // namespace chokepoint::preflight
