#include "analysis/export/run_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kDayNs = 86'400 * kSecondNs;

// A record that lost its sessions spans all time.
bool has_session(const NodeData& node) { return node.span.end_ns < kFarNs; }

// Of the node whose clock is the common one, or of another where that does not tell.
std::int64_t wall_of_start(const RunData& run, const Clocks& clocks, std::int64_t start_ns) {
  std::int64_t wall_ns = 0;
  for (std::size_t node = run.nodes.size(); node-- > 0;) {
    const NodeData& data = run.nodes[node];
    if (has_session(data) && data.wall_start_ns > 0 && (wall_ns == 0 || node == clocks.reference)) {
      wall_ns = data.wall_start_ns + (start_ns - clocks.common_ns(node, data.span.start_ns));
    }
  }
  // A host without a clock of its own begins in 1970; what was before the job needs room, too.
  return std::clamp(wall_ns, kDayNs, kFarNs);
}

}  // namespace

RunClock::RunClock(const RunData& run, Clocks clocks) : clocks_(std::move(clocks)) {
  std::int64_t start_ns = std::numeric_limits<std::int64_t>::max();
  for (std::size_t node = 0; node < run.nodes.size(); ++node) {
    if (has_session(run.nodes[node])) {
      start_ns = std::min(start_ns, clocks_.common_ns(node, run.nodes[node].span.start_ns));
    }
  }
  start_ns_ = start_ns == std::numeric_limits<std::int64_t>::max() ? 0 : start_ns;
  start_wall_ns_ = wall_of_start(run, clocks_, start_ns_);
}

std::int64_t RunClock::since_start_ns(std::size_t node, std::int64_t t_ns) const {
  return clocks_.common_ns(node, std::clamp(t_ns, -kFarNs, kFarNs)) - start_ns_;
}

Span RunClock::local(std::size_t node, Span since_start) const {
  const auto own = [&](std::int64_t ns) {
    return clocks_.local_ns(node, std::clamp(ns, -kFarNs, kFarNs) + start_ns_);
  };
  return {own(since_start.start_ns), own(since_start.end_ns)};
}

void append_seconds(std::string& out, std::int64_t ns) {
  if (ns < 0) {
    out += '-';
    ns = -ns;
  }
  out += fmt::format_int(ns / kSecondNs).str();
  const fmt::format_int below(kSecondNs + ns % kSecondNs);  // a 1 in front keeps the zeros
  out += '.';
  out.append(below.data() + 1, below.size() - 1);
}

}  // namespace chokepoint::analysis
