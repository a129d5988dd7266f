#include "analysis/export/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace chokepoint::analysis {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char letter) { return (letter & 0x80) == 0; });
}

bool is_control(char letter) {
  return static_cast<unsigned char>(letter) < 0x20 || letter == '\x7F';
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

// The length of the letter that the text begins with; 0 where its first byte belongs to none.
std::size_t letter_at(std::string_view text) {
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

// Calls put(letter) with each letter of valid UTF-8, the replacement for what is none.
template <class F>
void each_letter(std::string_view text, F&& put) {
  while (!text.empty()) {
    const std::size_t length = letter_at(text);
    put(length == 0 ? kReplacement : text.substr(0, length));
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
}

void append_json_control(std::string& out, char letter) {
  switch (letter) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}",
                     static_cast<unsigned>(static_cast<unsigned char>(letter)));
  }
}

bool looks_like_formula(std::string_view text) {
  constexpr std::string_view kBegins = "=+-@\t\r\n";
  return !text.empty() && kBegins.find(text.front()) != std::string_view::npos;
}

}  // namespace

void append_utf8(std::string& out, std::string_view text) {
  if (is_ascii(text)) {
    out += text;
    return;
  }
  each_letter(text, [&](std::string_view letter) { out += letter; });
}

std::string utf8_of(std::string_view text) {
  std::string out;
  append_utf8(out, text);
  return out;
}

void append_json(std::string& out, std::string_view text) {
  out += '"';
  each_letter(text, [&](std::string_view letter) {
    if (is_control(letter.front())) {
      append_json_control(out, letter.front());
      return;
    }
    if (letter == "\"" || letter == "\\") {
      out += '\\';
    }
    out += letter;
  });
  out += '"';
}

void append_csv(std::string& out, std::string_view text) {
  const bool is_guarded = looks_like_formula(text);
  const bool is_quoted = text.find_first_of(",\"\r\n") != std::string_view::npos;
  out += is_quoted ? "\"" : "";
  out += is_guarded ? "'" : "";
  each_letter(text, [&](std::string_view letter) {
    constexpr std::string_view kKept = "\t\r\n";
    if (is_control(letter.front()) && kKept.find(letter) == std::string_view::npos) {
      out += kReplacement;
      return;
    }
    out += letter;
    out += letter == "\"" ? "\"" : "";
  });
  out += is_quoted ? "\"" : "";
}

void append_label(std::string& out, std::string_view text) {
  each_letter(text, [&](std::string_view letter) {
    if (letter == "\n") {
      out += "\\n";
      return;
    }
    if (letter == "\"" || letter == "\\") {
      out += '\\';
    }
    out += letter;
  });
}

}  // namespace chokepoint::analysis
