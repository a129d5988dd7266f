// A report as others see it: the chokepoint.report/1 document, which the page holds as it is, and
// text and Markdown for where there is no browser. Pure functions.
#pragma once

#include <ostream>
#include <string>

#include "analysis/report/report.h"
#include "base/cli/context.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

cli::Json document_of(const cli::Context& context, const Report& report);
void print_report(std::ostream& out, const cli::Terminal& terminal, const Report& report);
std::string markdown_of(const Report& report);

}  // namespace chokepoint::analysis
