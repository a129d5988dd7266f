// Characters that a terminal acts upon, or that are invisible on one. Pure functions.
#pragma once

#include <string_view>

namespace chokepoint::cli {

// The number in Unicode of a letter in valid UTF-8.
char32_t code_of(std::string_view letter);

// Control characters, line ends, marks that turn the direction of writing, invisible letters.
bool is_harmful(char32_t code);

}  // namespace chokepoint::cli
