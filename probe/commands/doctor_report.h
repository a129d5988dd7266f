// What doctor shows: the chokepoint.doctor/1 document, and the page for people.
#pragma once

#include "base/cli/context.h"
#include "base/cli/document.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

cli::Json document_of(const cli::Context& context, const Checks& checks);

// Findings from worst to least, each with its reason and what to do; with `all` what passed, too.
void print_page(const cli::Context& context, const Checks& checks, bool all);

}  // namespace chokepoint::probe
