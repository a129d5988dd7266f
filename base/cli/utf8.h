// Text from other hosts and people's own words, of which nobody knows what bytes they are: names,
// labels, commands. Pure functions.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace chokepoint::cli {

// Stands for a byte that is part of no letter: U+FFFD.
constexpr std::string_view kNoLetter = "\xEF\xBF\xBD";

// Of the letter in UTF-8 that the text begins with; 0 where its first byte begins none.
std::size_t letter_length(std::string_view text);

// Calls put(letter) with each letter of valid UTF-8, the replacement for what is none.
template <class F>
void each_letter(std::string_view text, F&& put) {
  while (!text.empty()) {
    const std::size_t length = letter_length(text);
    put(length == 0 ? kNoLetter : text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

std::string valid_utf8(std::string_view text);

// Fit for one line of a terminal, a table or a ticket: control characters, which may move the
// cursor or change colours, line ends, marks that turn the direction of writing and bytes that are
// part of no letter become "·".
std::string printable(std::string_view text);

}  // namespace chokepoint::cli
