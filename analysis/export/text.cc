#include "analysis/export/text.h"

#include <fmt/format.h>

#include <iterator>

#include "base/cli/text.h"

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
