// Text as wide as a terminal shows it. Pure functions.
#pragma once

#include <algorithm>
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

// Text from other hosts and from users, which may hold any bytes: names, labels, commands. Pure
// functions.

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

// What was probably meant by a mistyped word. Pure functions.

// Insertions, deletions, replacements and swaps of neighbours between two words.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The known word nearest to a mistyped one; empty where none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string>& known);

}  // namespace chokepoint::cli
