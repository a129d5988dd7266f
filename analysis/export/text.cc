#include "analysis/export/text.h"

#include <fmt/format.h>

#include <iterator>

#include "base/cli/utf8.h"

namespace chokepoint::analysis {
namespace {

bool is_control(char letter) {
  return static_cast<unsigned char>(letter) < 0x20 || letter == '\x7F';
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

void append_json(std::string& out, std::string_view text) {
  out += '"';
  cli::each_letter(text, [&](std::string_view letter) {
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
  cli::each_letter(text, [&](std::string_view letter) {
    constexpr std::string_view kKept = "\t\r\n";
    if (is_control(letter.front()) && kKept.find(letter) == std::string_view::npos) {
      out += cli::kNoLetter;
      return;
    }
    out += letter;
    out += letter == "\"" ? "\"" : "";
  });
  out += is_quoted ? "\"" : "";
}

void append_label(std::string& out, std::string_view text) {
  cli::each_letter(text, [&](std::string_view letter) {
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
