// What the columns of an export mean, in a few words, and their units. Pure functions.
#pragma once

#include <string_view>

namespace chokepoint::analysis {

// Empty for a column that is not known: a test holds the list against the record's tables.
std::string_view text_of(std::string_view file, std::string_view column);
// As its name tells: "rtt_us" is in µs. Empty where it has none.
std::string_view unit_of(std::string_view column);

}  // namespace chokepoint::analysis
