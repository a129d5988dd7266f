// The chokepoint.doctor/1 document. The page for people is base/checks/check.h's.
#pragma once

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

cli::Json document_of(const cli::Context& context, const Checks& checks);

}  // namespace chokepoint::probe
