// What `record show` shows of a run: the chokepoint.run/1 document, and the page for people.
#pragma once

#include "analysis/load/run_summary.h"
#include "base/cli/context.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

cli::Json document_of(const cli::Context& context, const RunSummary& run);
void print_page(const cli::Context& context, const RunSummary& run);

}  // namespace chokepoint::analysis
