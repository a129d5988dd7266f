#include "base/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>

namespace chokepoint::cli {
namespace {

constexpr int kNarrowest = 40;
constexpr int kWidest = 400;

std::optional<int> columns_of(const std::optional<std::string>& text) {
  int columns = 0;
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), columns).ec != std::errc()) {
    return std::nullopt;
  }
  return columns >= kNarrowest && columns <= kWidest ? std::optional(columns) : std::nullopt;
}

}  // namespace

Terminal terminal_of(
    int fd, const std::function<std::optional<std::string>(const std::string&)>& environment) {
  Terminal terminal;
  terminal.interactive = isatty(fd) == 1;
  const auto no_color = environment("NO_COLOR");
  terminal.color =
      terminal.interactive && no_color.value_or("").empty() && environment("TERM") != "dumb";
  winsize size{};
  if (terminal.interactive && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= kNarrowest) {
    terminal.width = size.ws_col;
  } else if (!terminal.interactive) {
    terminal.width = kWidest;
  }
  terminal.width = columns_of(environment("COLUMNS")).value_or(terminal.width);
  return terminal;
}

}  // namespace chokepoint::cli
