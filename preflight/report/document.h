// What a preflight found, as chokepoint.preflight/1: all that was measured, and what that means.
// docs/preflight.md tells its fields; reading.h reads it back. Pure functions.
#pragma once

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "preflight/judge/finding.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

inline constexpr const char* kSchema = "chokepoint.preflight/1";

cli::Json document_of(const cli::Context& context, const Measured& measured,
                      const Judgement& judgement);

}  // namespace chokepoint::preflight
