#include "capture/commands/screen.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace chokepoint::capture {
namespace {

constexpr std::size_t kUsualLines = 24;
constexpr std::size_t kFewestLines = 6;
constexpr std::string_view kEndOfLine = "\033[K\n";
constexpr std::string_view kNoColor = "\033[0m";

bool continues_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

}  // namespace

Screen::Screen(const cli::Context& context)
    : context_(context), is_visible_(context.err_terminal.interactive && !context.quiet) {
  measure();
}

Screen::~Screen() {
  if (drawn_ > 0) {
    context_.err << back() << "\033[J" << std::flush;
  }
}

void Screen::draw(const std::vector<std::string>& lines) {
  measure();
  std::string text = back();
  drawn_ = std::min(lines.size(), room_);
  for (std::size_t i = 0; i < drawn_; ++i) {
    text += cut(lines[i], static_cast<std::size_t>(terminal_.width - 1));
    text += kEndOfLine;
  }
  context_.err << text << "\033[J" << std::flush;
}

void Screen::measure() {
  terminal_ = context_.err_terminal;
  winsize size{};
  const bool is_known = is_visible_ && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
  if (is_known && size.ws_col > 0) {
    terminal_.width = size.ws_col;
  }
  // The last line is the cursor's.
  room_ = std::max(is_known && size.ws_row > 0 ? size.ws_row - 1U : kUsualLines - 1, kFewestLines);
}

std::string Screen::back() const {
  return drawn_ == 0 ? std::string() : fmt::format("\033[{}A\r", drawn_);
}

std::string cut(const std::string& line, std::size_t width) {
  std::size_t letters = 0;
  bool is_code = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const bool begins_code = line[i] == '\033';
    if (!is_code && !begins_code && !continues_letter(line[i]) && ++letters > width) {
      return line.substr(0, i) + std::string(kNoColor);
    }
    is_code = begins_code || (is_code && line[i] != 'm');
  }
  return line;
}

}  // namespace chokepoint::capture
