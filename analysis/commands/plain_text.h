// Text that came from a record, a label or a path made fit for one line of a terminal, a table or a
// ticket. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace chokepoint::analysis {

// Control characters, line ends, marks that turn the direction of writing and bytes that are no
// UTF-8 become "·".
std::string one_line(std::string_view text);

// The same, and what Markdown or HTML would take for markup stands as it is read.
std::string markdown_text(std::string_view text);

// As a field of RFC 4180. What a spreadsheet would take for a formula begins with an apostrophe.
std::string csv_text(std::string_view text);

}  // namespace chokepoint::analysis
