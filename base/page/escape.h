// Foreign text on its way into an HTML file. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/cli/document.h"

namespace chokepoint::page {

// Text where HTML shows text: markup becomes what it looks like. Bytes that are no UTF-8 and
// control characters that HTML forbids become U+FFFD.
std::string html_text(std::string_view text);

// A document for a script element: no <, > or &, so nothing in it can begin a tag or a comment, and
// no U+2028 or U+2029, which older scripts take for ends of lines.
std::string script_json(const cli::Json& document);

}  // namespace chokepoint::page
