#include "base/cli/csv.h"

#include "base/cli/utf8.h"

namespace chokepoint::cli {
namespace {

bool is_control(char letter) {
  return static_cast<unsigned char>(letter) < 0x20 || letter == '\x7F';
}

bool looks_like_formula(std::string_view text) {
  constexpr std::string_view kBegins = "=+-@\t\r\n";
  return !text.empty() && kBegins.find(text.front()) != std::string_view::npos;
}

}  // namespace

void append_csv(std::string& out, std::string_view text) {
  const bool is_guarded = looks_like_formula(text);
  const bool is_quoted = text.find_first_of(",\"\r\n") != std::string_view::npos;
  out += is_quoted ? "\"" : "";
  out += is_guarded ? "'" : "";
  each_letter(text, [&](std::string_view letter) {
    constexpr std::string_view kKept = "\t\r\n";
    if (is_control(letter.front()) && kKept.find(letter) == std::string_view::npos) {
      out += kNoLetter;
      return;
    }
    out += letter;
    out += letter == "\"" ? "\"" : "";
  });
  out += is_quoted ? "\"" : "";
}

std::string csv_text(std::string_view text) {
  std::string cell;
  append_csv(cell, text);
  return cell;
}

}  // namespace chokepoint::cli
