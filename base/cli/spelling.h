// What was probably meant by a mistyped word. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chokepoint::cli {

// Insertions, deletions, replacements and swaps of neighbours between two words.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The known word nearest to a mistyped one; empty where none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace chokepoint::cli
