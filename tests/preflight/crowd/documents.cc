#include "tests/preflight/crowd/documents.h"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace chokepoint::preflight::crowd {
namespace {

std::string content(const std::string& name) {
  std::ifstream in(std::string(CHOKEPOINT_CROWD_DOCUMENTS) + "/" + name + ".json");
  return {std::istreambuf_iterator<char>(in), {}};
}

// Indentation alone: the documents' own texts hold no line's end.
std::string on_one_line(std::string_view text) {
  std::string line;
  bool at_start = false;
  for (const char c : text) {
    at_start = c == '\n' || (at_start && c == ' ');
    if (!at_start) {
      line += c;
    }
  }
  return line;
}

}  // namespace

Form::Form(std::string_view text) {
  const std::string line = on_one_line(text);
  std::size_t from = 0;
  while (true) {
    const std::size_t open = line.find('@', from);
    if (open == std::string::npos) {
      break;
    }
    const std::size_t close = line.find('@', open + 1);
    pieces_.push_back(
        {.text = line.substr(from, open - from), .gap = line.substr(open + 1, close - open - 1)});
    from = close + 1;
  }
  pieces_.push_back({.text = line.substr(from), .gap = {}});
}

std::string Form::filled(const Gaps& gaps) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    text += piece.text;
    if (piece.gap.empty()) {
      continue;
    }
    const auto gap =
        std::ranges::find(gaps, piece.gap, &std::pair<std::string_view, std::string>::first);
    text += gap == gaps.end() ? "null" : gap->second;
  }
  return text;
}

const Forms& forms() {
  static const Forms forms{.doctor = Form(content("doctor")),
                           .latency = Form(content("latency")),
                           .udp = Form(content("udp")),
                           .path = Form(content("path")),
                           .tcp = Form(content("tcp")),
                           .tcp_direction = Form(content("tcp_direction"))};
  return forms;
}

}  // namespace chokepoint::preflight::crowd
