// Tables for other programs. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace chokepoint::cli {

// A cell as RFC 4180 has it. Control characters but line ends and tabs become U+FFFD. What a
// spreadsheet would take for a formula gets an apostrophe in front of it.
void append_csv(std::string& out, std::string_view text);

std::string csv_text(std::string_view text);

}  // namespace chokepoint::cli
