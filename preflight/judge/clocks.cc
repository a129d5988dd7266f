#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/math/statistics.h"
#include "base/math/units.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

struct Step {
  HostIndex to = 0;
  double offset_ms = 0;  // its clock less the other's
  double uncertainty_ms = 0;
};

using Steps = std::vector<std::vector<Step>>;

Steps steps_of(const ClusterInput& input) {
  Steps steps(input.hosts());
  for (std::size_t index = 0; index < input.paths().size(); index += 2) {
    const DirectedPath& path = input.paths()[index];
    if (path.pair->clock_offset_ms) {
      const double offset = *path.pair->clock_offset_ms;
      const double uncertainty = path.pair->clock_uncertainty_ms.value_or(0);
      steps[path.from].push_back({path.to, offset, uncertainty});
      steps[path.to].push_back({path.from, -offset, uncertainty});
    }
  }
  return steps;
}

// Breadth first, so that few measurements stand between a host and the one with most of them.
std::vector<HostIndex> walk(const Steps& steps, HostIndex start,
                            std::vector<std::optional<HostClock>>& clocks) {
  std::vector<HostIndex> reached = {start};
  clocks[start] = HostClock{};
  for (std::size_t at = 0; at < reached.size(); ++at) {
    for (const Step& step : steps[reached[at]]) {
      if (!clocks[step.to]) {
        clocks[step.to] = {clocks[reached[at]]->offset_ms + step.offset_ms,
                           clocks[reached[at]]->uncertainty_ms + step.uncertainty_ms};
        reached.push_back(step.to);
      }
    }
  }
  return reached;
}

void center(const std::vector<HostIndex>& joined, std::vector<std::optional<HostClock>>& clocks) {
  std::vector<double> offsets;
  for (const HostIndex host : joined) {
    offsets.push_back(clocks[host]->offset_ms);
  }
  const double middle = math::median(offsets).value_or(0);
  for (const HostIndex host : joined) {
    clocks[host]->offset_ms -= middle;
    clocks[host]->joined = joined.size();
  }
}

bool is_off(const Limits& limits, const HostClock& clock) {
  // Of two hosts each lies half as far from the middle as from the other.
  const double apart = std::abs(clock.offset_ms) * (clock.joined == 2 ? 2 : 1);
  return apart > limits.clock_offset_ms + clock.uncertainty_ms;
}

// The two that only each other's clocks were held against.
std::vector<HostIndex> joined_with(const ClusterInput& input, HostIndex host) {
  for (const DirectedPath& path : input.paths()) {
    if (path.from == host && path.pair->clock_offset_ms) {
      return {host, path.to};
    }
  }
  return {host};
}

void report(JudgeContext& context, HostIndex host, const HostClock& clock) {
  const Limits& limits = context.input.limits();
  const bool two = clock.joined == 2;
  const double apart = clock.offset_ms * (two ? 2 : 1);
  Finding finding{.place = Place::Host};
  finding.hosts = two ? joined_with(context.input, host) : std::vector{host};
  finding.check = {
      .id = "clock.offset",
      .status = std::abs(apart) >= limits.clock_critical_ms ? Status::Critical : Status::Warning,
      .subject = names_of(context.input, finding.hosts),
      .found = fmt::format("{:+.1f} ms from {}", apart,
                           two ? "the other host's" : "the median of the hosts' clocks"),
      .wanted = fmt::format("{} ms at most", limits.clock_offset_ms),
      .why = two ? "records are compared by these clocks; with two hosts it is not known which one "
                   "is right"
                 : "records are compared by these clocks, and certificates have dates",
      .next_step = on_host(context.input.name(host), "timedatectl; chronyc tracking")};
  finding.evidence = {{"clock of " + context.input.name(host), apart, "ms", "probe udp"},
                      {"uncertainty of it", clock.uncertainty_ms, "ms", "probe udp"}};
  context.add(std::move(finding));
}

}  // namespace

std::vector<std::optional<HostClock>> clocks_of(const ClusterInput& input) {
  const Steps steps = steps_of(input);
  std::vector<HostIndex> order(input.hosts());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](HostIndex host) { return steps[host].size(); });
  std::vector<std::optional<HostClock>> clocks(input.hosts());
  for (const HostIndex host : order) {
    if (!clocks[host] && !steps[host].empty()) {
      center(walk(steps, host, clocks), clocks);
    }
  }
  return clocks;
}

void judge_clocks(JudgeContext& context) {
  const auto clocks = clocks_of(context.input);
  double most = 0;
  std::size_t known = 0;
  bool all_well = true;
  std::vector<bool> reported(clocks.size());
  for (HostIndex host = 0; host < clocks.size(); ++host) {
    if (!clocks[host]) {
      continue;
    }
    ++known;
    most = std::max(most, std::abs(clocks[host]->offset_ms));
    if (is_off(context.input.limits(), *clocks[host]) && !reported[host]) {
      report(context, host, *clocks[host]);
      all_well = false;
      for (const HostIndex one : context.findings.back().hosts) {
        reported[one] = true;
      }
    }
  }
  if (all_well && known > 0) {
    context.pass("clock.offset",
                 fmt::format("{} within {} of the median", counted(known, "clock", "clocks"),
                             math::format_ms(most)));
  }
}

}  // namespace chokepoint::preflight
