// What doctor shows: the chokepoint.doctor/1 document, and the page for people.
#pragma once

#include "base/cli/context.h"
#include "base/cli/document.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

cli::Json document_of(const cli::Context& context, const Checks& checks);

// What is wrong, the worst first, with the reason and what to do; the rest in a line each. With
// `all` every finding in full, and what passed.
void print_page(const cli::Context& context, const Checks& checks, bool all);

}  // namespace chokepoint::probe
