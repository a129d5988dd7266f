#include "base/cli/screen.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/cli/terminal_stream.h"

namespace chokepoint::cli {
namespace {

// Of ECMA-48 and xterm, as all terminals of today have them.
constexpr std::string_view kEnter = "\033[?1049h\033[?25l\033[H\033[2J";
constexpr std::string_view kLeave = "\033[?25h\033[?1049l";
constexpr std::string_view kTop = "\033[H";
constexpr std::string_view kClearRestOfLine = "\033[K";
constexpr std::string_view kClearBelow = "\033[J";

// A terminal whose output is stopped (Ctrl-S, a slow connection) must not hold the program.
constexpr int kMaxWaitMs = 1000;

}  // namespace

Result<Screen> Screen::take(const char* terminal) {
  sys::Descriptor opened(open(terminal, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
  termios before{};
  if (!opened || tcgetattr(opened.get(), &before) != 0) {
    return fail(from_errno(errno, "draw on", terminal));
  }
  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;
  if (tcsetattr(opened.get(), TCSAFLUSH, &raw) != 0) {
    return fail(from_errno(errno, "draw on", terminal));
  }
  Screen screen(std::move(opened), before);
  screen.write(kEnter);
  return screen;
}

Screen::~Screen() {
  if (terminal_) {
    write(kLeave);
    tcsetattr(terminal_.get(), TCSAFLUSH, &before_);
  }
}

std::string Screen::keys() const {
  std::array<char, 64> typed{};
  const ssize_t count = read(terminal_.get(), typed.data(), typed.size());
  return count > 0 ? std::string(typed.data(), static_cast<std::size_t>(count)) : std::string();
}

ScreenSize Screen::size() const {
  winsize size{};
  const bool is_known =
      ioctl(terminal_.get(), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
  return is_known ? ScreenSize{.columns = size.ws_col, .rows = size.ws_row} : ScreenSize{};
}

void Screen::draw(std::span<const std::string> lines) const {
  std::string text(kTop);
  for (std::size_t line = 0; line < lines.size(); ++line) {
    text.append(line == 0 ? "" : "\n")
        .append(escaped_for_terminal(lines[line]))
        .append(kClearRestOfLine);
  }
  text += kClearBelow;
  write(text);
}

void Screen::write(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t count = ::write(terminal_.get(), text.data(), text.size());
    if (count > 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
      continue;
    }
    pollfd writable{.fd = terminal_.get(), .events = POLLOUT, .revents = 0};
    if (count == 0 || (errno != EAGAIN && errno != EINTR) || poll(&writable, 1, kMaxWaitMs) == 0) {
      return;
    }
  }
}

}  // namespace chokepoint::cli
