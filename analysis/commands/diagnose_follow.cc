#include "analysis/commands/diagnose_follow.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <poll.h>

#include <algorithm>
#include <sstream>

#include "analysis/commands/diagnose_views.h"
#include "base/cli/text.h"
#include "base/sys/signals.h"

namespace chokepoint::analysis {
namespace {

// How many of the screen's lines a text takes: a line that is too long goes on in the next.
std::ptrdiff_t rows_of(const std::string& text, int width) {
  std::ptrdiff_t rows = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    rows += std::max<std::ptrdiff_t>(
        1, (static_cast<std::ptrdiff_t>(cli::width_of(line)) + width - 1) / width);
  }
  return rows;
}

// The screen's part that shows the last look.
class Display {
 public:
  Display(cli::Context& context, bool all) : context_(context), all_(all) {}

  void show(const Diagnosis& diagnosis) {
    if (context_.json) {
      context_.out << document_of(context_, diagnosis)
                          .dump(-1, ' ', false, cli::Json::error_handler_t::replace)
                   << '\n';
    } else if (context_.out_terminal.interactive) {
      redraw(diagnosis);
    } else {
      fmt::print(context_.out, "{} {}, {} steps\n", sys::rfc3339(context_.clock.wall_ns()),
                 headline_of(diagnosis), diagnosis.steps.count);
    }
    context_.out.flush();
  }

 private:
  std::string drawn(const Diagnosis& diagnosis, const cli::Terminal& terminal) const {
    std::ostringstream page;
    print_page(page, terminal, diagnosis);
    if (all_) {
      print_details(page, terminal, diagnosis);
    }
    return page.str();
  }

  void redraw(const Diagnosis& diagnosis) {
    if (rows_ > 0) {
      fmt::print(context_.out, "\033[{}A\033[J", rows_);
    }
    context_.out << drawn(diagnosis, context_.out_terminal);
    // Colours take no room.
    cli::Terminal plain = context_.out_terminal;
    plain.color = false;
    rows_ = rows_of(drawn(diagnosis, plain), plain.width);
  }

  cli::Context& context_;
  bool all_;
  std::ptrdiff_t rows_ = 0;
};

bool is_asked_to_end(const sys::Signals& signals, std::chrono::nanoseconds wait) {
  pollfd waiting{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(wait);
  const timespec time{.tv_sec = seconds.count(), .tv_nsec = (wait - seconds).count()};
  return ppoll(&waiting, 1, &time, nullptr) > 0;
}

}  // namespace

Result<Followed> follow(const std::string& folder, const DiagnoseOptions& options,
                        const Following& how, cli::Context& context) {
  const Result<sys::Signals> signals = sys::Signals::watch({SIGINT, SIGTERM});
  if (!signals) {
    return std::unexpected(signals.error());
  }
  Result<Look> look = look_at(folder, options);
  if (!look) {
    return std::unexpected(look.error());
  }
  Display display(context, how.all);
  Followed followed;
  std::int64_t newest_ns = 0;
  std::int64_t changed_ns = context.clock.monotonic_ns();
  for (;;) {
    const std::int64_t now_ns = context.clock.monotonic_ns();
    if (look) {
      followed.last = std::move(look->diagnosis);
      display.show(followed.last);
      changed_ns = look->newest_ns > newest_ns ? now_ns : changed_ns;
      newest_ns = look->newest_ns;
    }
    if (followed.last.is_complete || now_ns - changed_ns > how.patience.count()) {
      return followed;
    }
    if (is_asked_to_end(*signals, how.every)) {
      followed.is_interrupted = true;
      return followed;
    }
    look = look_at(folder, options);
  }
}

}  // namespace chokepoint::analysis
