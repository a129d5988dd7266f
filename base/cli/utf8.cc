#include "base/cli/utf8.h"

namespace chokepoint::cli {
namespace {

constexpr std::string_view kInstead = "\u00B7";

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) { return (letter & 0x80) == 0; });
}

// Of a sequence that begins with this byte; 0 where none does.
std::size_t length_of(unsigned char first) {
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first < 0xE0) {
    return 2;
  }
  if (first >= 0xE0 && first < 0xF0) {
    return 3;
  }
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

// Neither longer than it need be, nor half of a pair, nor past the last letter there is.
bool is_second(unsigned char first, unsigned char second) {
  const unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  return second >= least && second <= most;
}

// Of a letter that is one.
char32_t code_of(std::string_view letter) {
  const auto first = static_cast<unsigned char>(letter.front());
  char32_t code = letter.size() == 1 ? first : first & (0x7FU >> letter.size());
  for (const char next : letter.substr(1)) {
    code = (code << 6U) | (static_cast<unsigned char>(next) & 0x3FU);
  }
  return code;
}

bool is_harmful(char32_t code) {
  const bool is_control = code < 0x20 || (code >= 0x7F && code < 0xA0);
  const bool is_line_end = code == 0x2028 || code == 0x2029;
  const bool turns_writing = code == 0x200E || code == 0x200F ||
                             (code >= 0x202A && code <= 0x202E) ||
                             (code >= 0x2066 && code <= 0x2069);
  return is_control || is_line_end || turns_writing;
}

}  // namespace

std::size_t letter_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const std::size_t length = length_of(byte(0));
  if (length < 2) {
    return length;
  }
  if (text.size() < length || !is_second(byte(0), byte(1))) {
    return 0;
  }
  for (std::size_t at = 2; at < length; ++at) {
    if ((byte(at) & 0xC0) != 0x80) {
      return 0;
    }
  }
  return length;
}

std::string valid_utf8(std::string_view text) {
  if (is_ascii(text)) {
    return std::string(text);
  }
  std::string valid;
  each_letter(text, [&](std::string_view letter) { valid += letter; });
  return valid;
}

std::string printable(std::string_view text) {
  std::string shown;
  each_letter(text, [&](std::string_view letter) {
    shown += letter == kNoLetter || is_harmful(code_of(letter)) ? kInstead : letter;
  });
  return shown;
}

}  // namespace chokepoint::cli
