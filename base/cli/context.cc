#include "base/cli/context.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "base/cli/text.h"
#include "base/math/units.h"
#include "base/sys/number.h"

namespace chokepoint::cli {
namespace {

constexpr int kNarrowest = 40;
constexpr int kWidest = 400;

std::optional<int> columns_of(const std::optional<std::string>& text) {
  const std::optional<int> columns = sys::parse_number<int>(text.value_or(""));
  return columns >= kNarrowest && columns <= kWidest ? columns : std::nullopt;
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

namespace {

constexpr std::int64_t kRedrawNs = 100'000'000;
constexpr std::size_t kBarWidth = 24;
constexpr std::string_view kClearLine = "\r\033[K";

std::string bar(double share) {
  const auto full = static_cast<std::size_t>(share * static_cast<double>(kBarWidth));
  return "[" + std::string(full, '#') + std::string(kBarWidth - full, '.') + "]";
}

}  // namespace

void show_progress(const Context& context, std::string_view what) {
  if (context.err_terminal.interactive && !context.quiet) {
    context.err << printable(what) << " …\n" << std::flush;
  }
}

Progress::Progress(const Context& context, std::string title, std::uint64_t total)
    : context_(context),
      title_(std::move(title)),
      total_(total),
      visible_(context.err_terminal.interactive && !context.quiet),
      started_ns_(context.clock.monotonic_ns()) {}

Progress::~Progress() {
  if (drawn_ns_ >= 0) {
    context_.err << kClearLine << std::flush;
  }
}

void Progress::update(std::uint64_t done, const std::string& note) {
  const std::int64_t now = context_.clock.monotonic_ns();
  if (!visible_ || (drawn_ns_ >= 0 && now - drawn_ns_ < kRedrawNs)) {
    return;
  }
  drawn_ns_ = now;
  const std::string text = line(done, note, now - started_ns_);
  const auto width = static_cast<std::size_t>(context_.err_terminal.width - 1);
  context_.err << kClearLine << printable(text.substr(0, width)) << std::flush;
}

std::string Progress::line(std::uint64_t done, const std::string& note,
                           std::int64_t elapsed_ns) const {
  const std::string tail = note.empty() ? "" : "  " + note;
  if (total_ == 0) {
    return fmt::format("{} {}{}", title_, done, tail);
  }
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
  std::string text = fmt::format("{} {} {:3.0f} %", title_, bar(share), share * 100);
  // An estimate from the first hundredth of the work would be far off.
  constexpr double kMinShareForEstimate = 0.02;
  if (share >= kMinShareForEstimate && share < 1) {
    const auto left = static_cast<std::int64_t>(static_cast<double>(elapsed_ns) * (1 / share - 1));
    text += "  " + math::format_duration(std::chrono::nanoseconds(left)) + " left";
  }
  return text + tail;
}

}  // namespace chokepoint::cli
