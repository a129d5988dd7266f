// The page of 'chokepoint probe paths': what is wrong with which flows. One thread.
#pragma once

#include "base/cli/context.h"
#include "base/documents/probe_paths.h"

namespace chokepoint::probe {

void print_page(const cli::Context& context, const documents::ProbePaths& shown);

}  // namespace chokepoint::probe
