// A chokepoint.preflight/1 document read back, to be held against a later preflight. It comes from
// a file that anybody may have written: nothing in it is believed before it is looked at. Pure
// functions.
#pragma once

#include <string_view>

#include "base/cli/output.h"
#include "base/sys/error.h"
#include "preflight/result/measured.h"

namespace chokepoint::preflight {

// Malformed where it is no such document, Newer where a newer version of it.
Result<Measured> measured_in(const cli::Json& document);

// The same from a file's text, which may end too early.
Result<Measured> measured_in_text(std::string_view text);

}  // namespace chokepoint::preflight
