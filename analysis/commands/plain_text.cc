#include "analysis/commands/plain_text.h"

#include <cstdint>

namespace chokepoint::analysis {
namespace {

constexpr std::string_view kInstead = "·";

// How many bytes the letter at the beginning has, and which it is; 0 where it is none.
struct Letter {
  std::size_t bytes = 0;
  std::uint32_t code = 0;
};

Letter letter_at(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])) : 0U;
  };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return {};
  std::uint32_t code = first & (0x7fU >> bytes);
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xc0U) != 0x80) return {};
    code = (code << 6U) | (byte(at) & 0x3fU);
  }
  const bool is_overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool is_none = code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff);
  return is_overlong || is_none ? Letter{} : Letter{bytes, code};
}

bool is_harmful(std::uint32_t code) {
  const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool is_line_end = code == 0x2028 || code == 0x2029;
  const bool turns_writing = code == 0x200e || code == 0x200f ||
                             (code >= 0x202a && code <= 0x202e) ||
                             (code >= 0x2066 && code <= 0x2069);
  return is_control || is_line_end || turns_writing;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const Letter letter = letter_at(text);
    const std::size_t bytes = letter.bytes == 0 ? 1 : letter.bytes;
    line += letter.bytes == 0 || is_harmful(letter.code) ? kInstead : text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return line;
}

std::string markdown_text(std::string_view text) {
  std::string escaped;
  for (const char letter : one_line(text)) {
    switch (letter) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '\\':
      case '|':
      case '`':
      case '*':
      case '_':
      case '[':
      case ']':
      case '~':
      case '#':
      case '!':
      case '@':
      case '$':
        escaped += '\\';
        escaped += letter;
        break;
      default:
        escaped += letter;
    }
  }
  return escaped;
}

std::string csv_text(std::string_view text) {
  constexpr std::string_view kFormula = "=+-@\t\r";
  std::string field(text);
  if (!field.empty() && kFormula.find(field.front()) != std::string_view::npos) {
    field.insert(0, 1, '\'');
  }
  if (field.find_first_of(",\"\r\n") == std::string::npos) {
    return field;
  }
  std::string quoted = "\"";
  for (const char letter : field) {
    quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  }
  return quoted + '"';
}

}  // namespace chokepoint::analysis
