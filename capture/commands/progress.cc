#include "capture/commands/progress.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "base/cli/context.h"
#include "base/math/units.h"
#include "capture/commands/flow_table.h"
#include "capture/flow/slot_table.h"
#include "capture/live/line.h"
#include "capture/observer/observer.h"

namespace chokepoint::capture {
namespace {

constexpr std::size_t kUsualLines = 24;
constexpr std::size_t kFewestLines = 6;
constexpr std::string_view kEndOfLine = "\033[K\n";
constexpr std::string_view kNoColor = "\033[0m";
constexpr std::string_view kPrefix = "chokepoint: ";

bool continues_letter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// Lines on a terminal that are redrawn in place. Each is cut off at the terminal's width, so that
// going up by as many lines as were drawn always leads to the first. The destructor erases them.
class Screen {
 public:
  // On standard error; invisible if that is no terminal, or with --quiet.
  explicit Screen(const cli::Context& context)
      : context_(context), is_visible_(context.err_terminal.interactive && !context.quiet) {
    measure();
  }

  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  ~Screen() {
    if (drawn_ > 0) {
      context_.err << back() << "\033[J" << std::flush;
    }
  }

  bool is_visible() const { return is_visible_; }
  // Measured again at each draw(), as windows change their size.
  const cli::Terminal& terminal() const { return terminal_; }
  // How many lines fit.
  std::size_t room() const { return room_; }

  void draw(const std::vector<std::string>& lines) {
    measure();
    std::string text = back();
    drawn_ = std::min(lines.size(), room_);
    for (std::size_t i = 0; i < drawn_; ++i) {
      text += cut(lines[i], static_cast<std::size_t>(terminal_.width - 1));
      text += kEndOfLine;
    }
    context_.err << text << "\033[J" << std::flush;
  }

 private:
  void measure() {
    terminal_ = context_.err_terminal;
    winsize size{};
    const bool is_known = is_visible_ && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
    if (is_known && size.ws_col > 0) {
      terminal_.width = size.ws_col;
    }
    // The last line is the cursor's.
    room_ =
        std::max(is_known && size.ws_row > 0 ? size.ws_row - 1U : kUsualLines - 1, kFewestLines);
  }

  std::string back() const {
    return drawn_ == 0 ? std::string() : fmt::format("\033[{}A\r", drawn_);
  }

  const cli::Context& context_;
  bool is_visible_;
  cli::Terminal terminal_;
  std::size_t room_ = 0;
  std::size_t drawn_ = 0;
};

// An analyser that takes longer is too busy for a table: the last one stays.
constexpr std::chrono::milliseconds kInspectTimeout{300};

double rate(std::uint64_t now, std::uint64_t before, double seconds) {
  return static_cast<double>(now - before) / seconds;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

// The table of flows while a capture goes on. Rates are those since the last refresh. Flows are
// read between two batches of their analyser.
class LiveView {
 public:
  // Both outlive the view.
  LiveView(const cli::Context& context, const WatchOptions& options)
      : context_(context),
        options_(options),
        screen_(context),
        started_ns_(context.clock.monotonic_ns()),
        drawn_ns_(started_ns_) {}

  void refresh(observer::Observer& observer) {
    if (!screen_.is_visible()) {
      return;
    }
    const std::int64_t now_ns = context_.clock.monotonic_ns();
    const double seconds = static_cast<double>(now_ns - drawn_ns_) / math::kNsPerSecond;
    const observer::Progress progress = observer.progress().now();
    const std::string head = headline(progress, seconds);
    screen_.draw(page(busiest(observer, seconds), head));
    past_progress_ = progress;
    drawn_ns_ = now_ns;
  }

 private:
  // What a flow had carried at the last refresh.
  struct Past {
    std::int64_t start_ns = 0;
    std::array<std::uint64_t, 2> payload_bytes{};
  };

  std::vector<RankedFlow> busiest(observer::Observer& observer, double seconds) {
    RankBy by{.sort = options_.sort, .most = std::min(options_.top, screen_.room())};
    std::vector<RankedFlow> flows;
    std::size_t index = 0;
    const auto look = [&](const observer::Analyser& analyser) {
      pasts_.resize(std::max(pasts_.size(), index + 1));
      by.rates = [&, index](std::uint32_t slot, const flow::Glance& glance) {
        return rates_since_then(pasts_[index], slot, glance, seconds);
      };
      rank(analyser.engine(), index, by, flows);
      ++index;
    };
    if (observer.inspect(look, kInspectTimeout)) {
      shown_ = std::move(flows);
    }
    return shown_;
  }

  Rates rates_since_then(flow::SlotTable<Past>& pasts, std::uint32_t slot,
                         const flow::Glance& glance, double seconds) const {
    Past& past = pasts[slot];
    if (past.start_ns != glance.start_ns) {
      past = {.start_ns = glance.start_ns};
    }
    Rates mbps{};
    for (std::size_t direction = 0; direction < 2; ++direction) {
      const std::uint64_t bytes = glance.tallies.at(direction)->payload_bytes;
      mbps.at(direction) =
          rate(bytes, past.payload_bytes.at(direction), seconds) * math::kBits / math::kMega;
      past.payload_bytes.at(direction) = bytes;
    }
    return mbps;
  }

  std::string headline(const observer::Progress& progress, double seconds) const {
    const auto whole_seconds = static_cast<std::int64_t>(
        static_cast<double>(context_.clock.monotonic_ns() - started_ns_) / math::kNsPerSecond);
    const std::uint64_t dropped = progress.dropped_by_kernel + progress.dropped_by_interface;
    constexpr std::int64_t kMinute = 60;
    return fmt::format(
        "{}  {:02}:{:02}  {:.0f} frames/s  {}  dropped {}", options_.source,
        whole_seconds / kMinute, whole_seconds % kMinute,
        rate(progress.frames, past_progress_.frames, seconds),
        math::format_rate(rate(progress.frame_bytes, past_progress_.frame_bytes, seconds) *
                          math::kBits),
        dropped);
  }

  std::vector<std::string> page(const std::vector<RankedFlow>& flows,
                                const std::string& headline) const {
    const cli::Terminal& terminal = screen_.terminal();
    std::ostringstream text;
    flow_table(flows, terminal).print(text, terminal);
    std::vector<std::string> lines = lines_of(text.str());
    lines.insert(lines.begin(), {cli::tinted(headline, cli::Tint::Bold, terminal), ""});
    const std::vector<std::string> notes = anomaly_lines(flows, terminal);
    if (!notes.empty()) {
      lines.emplace_back();
      lines.insert(lines.end(), notes.begin(), notes.end());
    }
    return lines;
  }

  const cli::Context& context_;
  const WatchOptions& options_;
  Screen screen_;
  std::int64_t started_ns_;
  std::int64_t drawn_ns_;
  observer::Progress past_progress_;
  std::vector<flow::SlotTable<Past>> pasts_;  // by analyser and slot
  std::vector<RankedFlow> shown_;
};

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr milliseconds kRefreshLive{1000};
constexpr milliseconds kRefreshFile{200};

enum class Event { Over, Interrupt, Time };

Event wait(int over, int interrupt, milliseconds most) {
  std::array<pollfd, 2> watched{{{over, POLLIN, 0}, {interrupt, POLLIN, 0}}};
  poll(watched.data(), watched.size(), static_cast<int>(most.count()));
  if (watched[0].revents != 0) {
    return Event::Over;
  }
  return watched[1].revents != 0 ? Event::Interrupt : Event::Time;
}

}  // namespace

bool watch(observer::Observer& observer, const WatchOptions& options, int interrupt,
           const cli::Context& context) {
  LiveView view(context, options);
  cli::Progress progress(context, "reading", 0);
  const std::int64_t end_ns = context.clock.monotonic_ns() + options.most_time.count();
  const bool is_timed = options.is_live && options.most_time.count() > 0;
  for (milliseconds next = options.is_live ? kRefreshLive : kRefreshFile;;) {
    const auto left = std::chrono::ceil<milliseconds>(
        nanoseconds(std::max<std::int64_t>(end_ns - context.clock.monotonic_ns(), 0)));
    const Event event =
        wait(observer.descriptor(), interrupt, is_timed ? std::min(next, left) : next);
    if (event != Event::Time) {
      observer.stop();
      return event == Event::Interrupt;
    }
    if (is_timed && context.clock.monotonic_ns() >= end_ns) {
      observer.stop();
      return false;
    }
    if (options.is_live) {
      view.refresh(observer);
    } else {
      progress.update(observer.progress().now().frames, "frames");
    }
  }
}

LiveNotes::LiveNotes(const cli::Context& context, std::chrono::nanoseconds every)
    : context_(context), every_ns_(every.count()), printed_ns_(context.clock.monotonic_ns()) {}

void LiveNotes::note_output(const job::OutputPiece& piece) {
  if (!piece.bytes.empty()) {
    is_line_open_ = piece.bytes.back() != '\n';
  }
}

void LiveNotes::show(const live::Figures& figures, std::int64_t now_ns) {
  const bool stands = figures.stall.state == record::StallState::Stands;
  const bool is_news = std::exchange(stands_, stands) != stands && !context_.quiet;
  if (is_news || (every_ns_ != 0 && now_ns - printed_ns_ >= every_ns_)) {
    printed_ns_ = now_ns;
    print(figures);
  }
}

void LiveNotes::print(const live::Figures& figures) {
  const auto columns = static_cast<std::size_t>(context_.err_terminal.width);
  const bool breaks = is_line_open_ && context_.err_terminal.interactive;
  fmt::print(context_.err, "{}{}{}\n", breaks ? "\n" : "", kPrefix,
             live::line_of(figures, columns > kPrefix.size() ? columns - kPrefix.size() : 0));
  context_.err.flush();
  is_line_open_ = false;
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
