#include "capture/commands/live_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "base/math/units.h"
#include "capture/commands/flow_table.h"
#include "capture/commands/units.h"

namespace chokepoint::capture {
namespace {

// An analyser that is busier than that has no time for a table.
constexpr std::chrono::milliseconds kPatience{300};

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

}  // namespace

LiveView::LiveView(const cli::Context& context, const WatchOptions& options)
    : context_(context),
      options_(options),
      screen_(context),
      started_ns_(context.clock.monotonic_ns()),
      drawn_ns_(started_ns_) {}

void LiveView::refresh(observer::Observer& observer) {
  if (!screen_.is_visible()) {
    return;
  }
  const std::int64_t now_ns = context_.clock.monotonic_ns();
  const double seconds = static_cast<double>(now_ns - drawn_ns_) / kNsPerSecond;
  const observer::Progress progress = observer.course().progress();
  const std::string head = headline(progress, seconds);
  screen_.draw(page(busiest(observer, seconds), head));
  past_progress_ = progress;
  drawn_ns_ = now_ns;
}

std::vector<RankedFlow> LiveView::busiest(observer::Observer& observer, double seconds) {
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
  if (observer.inspect(look, kPatience)) {
    shown_ = std::move(flows);
  }
  return shown_;
}

Rates LiveView::rates_since_then(std::vector<Past>& pasts, std::uint32_t slot,
                                 const flow::Glance& glance, double seconds) const {
  pasts.resize(std::max<std::size_t>(pasts.size(), slot + 1));
  Past& past = pasts[slot];
  if (past.start_ns != glance.start_ns) {
    past = {.start_ns = glance.start_ns};
  }
  Rates mbps{};
  for (std::size_t direction = 0; direction < 2; ++direction) {
    const std::uint64_t bytes = glance.tallies.at(direction)->payload_bytes;
    mbps.at(direction) = rate(bytes, past.payload_bytes.at(direction), seconds) * kBits / kMega;
    past.payload_bytes.at(direction) = bytes;
  }
  return mbps;
}

std::string LiveView::headline(const observer::Progress& progress, double seconds) const {
  const auto whole_seconds = static_cast<std::int64_t>(
      static_cast<double>(context_.clock.monotonic_ns() - started_ns_) / kNsPerSecond);
  const std::uint64_t dropped = progress.dropped_by_kernel + progress.dropped_by_interface;
  constexpr std::int64_t kMinute = 60;
  return fmt::format(
      "{}  {:02}:{:02}  {:.0f} frames/s  {}  dropped {}", options_.source, whole_seconds / kMinute,
      whole_seconds % kMinute, rate(progress.frames, past_progress_.frames, seconds),
      math::format_rate(rate(progress.frame_bytes, past_progress_.frame_bytes, seconds) * kBits),
      dropped);
}

std::vector<std::string> LiveView::page(const std::vector<RankedFlow>& flows,
                                        const std::string& headline) const {
  const cli::Terminal& terminal = screen_.terminal();
  std::ostringstream text;
  flow_table(flows, terminal).print(text, terminal);
  std::vector<std::string> lines = lines_of(text.str());
  lines.insert(lines.begin(), {cli::tinted(headline, cli::Tint::Bold, terminal), ""});
  const std::vector<std::string> notes = remarkable_lines(flows, terminal);
  if (!notes.empty()) {
    lines.emplace_back();
    lines.insert(lines.end(), notes.begin(), notes.end());
  }
  return lines;
}

}  // namespace chokepoint::capture
