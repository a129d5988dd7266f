// The chokepoint.doctor/1 document. The page for people is base/checks/page.h's.
#pragma once

#include "base/cli/context.h"
#include "base/cli/document.h"
#include "probe/host/check.h"

namespace chokepoint::probe {

cli::Json document_of(const cli::Context& context, const Checks& checks);

}  // namespace chokepoint::probe
