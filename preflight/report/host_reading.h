// The hosts of a document that is read back. Pure functions.
#pragma once

#include <vector>

#include "base/cli/output.h"
#include "base/sys/error.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

Result<std::vector<HostResult>> host_results_in(const cli::Json& document);

}  // namespace chokepoint::preflight
