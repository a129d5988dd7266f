#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "preflight/judge/expectation.h"
#include "preflight/judge/fault_location.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

// The probability of at least `count` losses if `mean` are expected and they are independent
// (Poisson).
double chance_of_at_least(double count, double mean) {
  if (count <= 0 || count <= mean) {
    return 1;
  }
  if (mean <= 0) {
    return 0;
  }
  // Beyond the mean each term is smaller than the one before by a factor that shrinks.
  double term = std::exp(-mean + count * std::log(mean) - std::lgamma(count + 1));
  double sum = 0;
  for (double next = count + 1; term > sum * 1e-12; ++next) {
    sum += term;
    term *= mean / next;
  }
  return sum;
}

// Packets that are larger than one end takes are all lost: that is reported as its MTU.
bool is_lost_for_size(const JudgeContext& context, const DirectedPath& path) {
  return path.result->lost >= path.result->packets &&
         std::ranges::any_of(context.findings, [&](const Finding& one) {
           return one.check.id == "link.mtu" && one.check.status >= Status::Warning &&
                  one.place == Place::Port &&
                  (std::ranges::find(one.hosts, path.from) != one.hosts.end() ||
                   std::ranges::find(one.hosts, path.to) != one.hosts.end());
         });
}

std::vector<Tested> tested_for_loss(const JudgeContext& context) {
  const ClusterInput& input = context.input;
  std::vector<Tested> tested;
  for (PathIndex index = 0; index < input.paths().size(); ++index) {
    const DirectedPath& path = input.paths()[index];
    if (path.result->packets > 0 && !is_lost_for_size(context, path) &&
        !has_lossy_member(input, path)) {
      tested.push_back({index, path.from, path.to, static_cast<double>(path.result->packets),
                        static_cast<double>(std::min(path.result->lost, path.result->packets))});
    }
  }
  return tested;
}

struct Count {
  double sent = 0;
  double lost = 0;
  double percent() const { return sent > 0 ? 100 * lost / sent : 0; }
};

Count count_of(const ClusterInput& input, const std::vector<PathIndex>& paths) {
  Count count;
  for (const PathIndex path : paths) {
    count.sent += input.paths()[path].result->packets;
    count.lost += input.paths()[path].result->lost;
  }
  return count;
}

void add_evidence(const ClusterInput& input, const std::vector<PathIndex>& paths,
                  Finding& finding) {
  constexpr std::size_t kShown = 4;
  for (const PathIndex index : std::span(paths).first(std::min(paths.size(), kShown))) {
    const DirectedPath& path = input.paths()[index];
    finding.evidence.push_back({"lost " + words_for(input, path),
                                static_cast<double>(path.result->lost),
                                fmt::format("of {} packets", path.result->packets), "probe udp"});
  }
}

void report_loss(JudgeContext& context, const FaultLocation& location) {
  const Limits& limits = context.input.limits();
  const Count count = count_of(context.input, location.paths);
  Finding finding = finding_of(
      context.input, location, "link.loss",
      count.percent() >= limits.loss_critical_percent ? Status::Critical : Status::Warning);
  finding.check.found = fmt::format("{:.3g} %: {} of {} packets on {}", count.percent(), count.lost,
                                    count.sent, counted(location.paths.size(), "path", "paths"));
  finding.check.wanted = fmt::format("{} % at most, with nothing else on", limits.loss_percent);
  add_evidence(context.input, location.paths, finding);
  context.explain(location.paths);
  context.add(std::move(finding));
}

}  // namespace

void judge_loss(JudgeContext& context) {
  const Limits& limits = context.input.limits();
  const std::vector<Tested> tested = tested_for_loss(context);
  const auto is_more = [&](const Part& part, double false_alarm) {
    const double expected = part.sent * limits.loss_percent / 100;
    return part.lost > 0 && chance_of_at_least(part.lost, expected) < false_alarm;
  };
  const auto located =
      locate_faults(context.input.hosts(), tested, is_more, limits.loss_false_alarm);
  for (const FaultLocation& one : located) {
    report_loss(context, one);
  }
  if (located.empty() && !tested.empty()) {
    Count all;
    for (const Tested& path : tested) {
      all.sent += path.sent;
      all.lost += path.lost;
    }
    context.pass("link.loss", fmt::format("{} of {} packets lost on {}", all.lost, all.sent,
                                          counted(tested.size(), "path", "paths")));
  }
}

}  // namespace chokepoint::preflight
