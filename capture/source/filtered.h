// A source through a libpcap filter expression: for files, which no kernel filters. The expression
// is compiled once a link type. Reads on the thread that reads the source below.
#pragma once

#include <memory>
#include <string>

#include "base/sys/error.h"
#include "capture/source/source.h"

namespace chokepoint::capture::source {

// A mistake in the expression is of kind Usage, and found at once.
Result<std::unique_ptr<Source>> filtered(std::unique_ptr<Source> below,
                                         const std::string& expression);

}  // namespace chokepoint::capture::source
