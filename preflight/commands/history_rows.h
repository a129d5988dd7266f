// What of a preflight is remembered: values of its document, and how its hosts were set up. Pure;
// any thread.
#pragma once

#include "base/cli/output.h"
#include "base/history/measured.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight {

history::Batch history_rows(const cli::Json& document, const Measured& measured,
                            const history::Origin& origin);

}  // namespace chokepoint::preflight
