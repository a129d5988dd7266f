// A preflight as one HTML file that needs nothing beside it: base/page's, with the document in it
// and the text page for where no script runs. Of a large cluster the file holds less than the
// document: a browser shall open it without waiting long. Pure functions.
#pragma once

#include <string>

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "base/sys/error.h"
#include "preflight/judge/finding.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

// Unsupported where this was built without what draws pages.
Result<std::string> html_of(const cli::Context& context, const Measured& measured,
                            const Judgement& judgement);

// Of more pairs than a page shows one by one: figures at three digits, a list of which all are the
// same as that figure, and without what the page does not draw. "reduced" then says so.
inline constexpr std::size_t kMostPairsInFull = 30000;
void reduce(cli::Json& document);

}  // namespace chokepoint::preflight
