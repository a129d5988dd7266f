// What the generated pages share. Pure.
#pragma once

#include <string>
#include <string_view>

namespace chokepoint::reference {

inline constexpr std::string_view kMade =
    "<!-- Made by scripts/reference from the tables in the sources: edit those. -->\n";

// A cell of a table: bars are escaped.
inline std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '|' ? "\\|" : std::string(1, c);
  }
  return escaped;
}

}  // namespace chokepoint::reference
