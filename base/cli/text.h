// Text as wide as a terminal shows it. Pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chokepoint::cli {

// Letters, not bytes: continuation bytes of UTF-8 take no room.
std::size_t width_of(std::string_view text);

// Lines of at most `width` letters, broken between words; at least one, perhaps empty. A word that
// is longer stands whole on a line of its own.
std::vector<std::string> broken(std::string_view text, std::size_t width);

// Lines of at most `width` letters, each behind `indent` spaces. Line ends part paragraphs.
std::string wrapped(std::string_view text, int width, int indent);

}  // namespace chokepoint::cli
