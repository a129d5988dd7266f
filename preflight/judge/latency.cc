#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/math/statistics.h"
#include "base/math/units.h"
#include "preflight/judge/cluster_input.h"
#include "preflight/judge/fault_location.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

// Where processors are taken, answers are late because of them; the fastest answer is still the
// path's.
bool is_long(const JudgeContext& context, const PairResult& pair) {
  const Limits& limits = context.input.limits();
  if (context.is_short_of_processors) {
    return pair.rtt_min_ms.value_or(*pair.rtt_ms) > limits.latency_lan_ms;
  }
  return *pair.rtt_ms > limits.latency_lan_ms ||
         (limits.latency_p99_ms && pair.rtt_p99_ms && *pair.rtt_p99_ms > *limits.latency_p99_ms);
}

double median_of(const ClusterInput& input, const std::vector<PathIndex>& paths) {
  std::vector<double> times;
  for (const PathIndex path : paths) {
    times.push_back(*input.paths()[path].pair->rtt_ms);
  }
  return math::median(times).value_or(0);
}

std::string wanted_words(const Limits& limits) {
  std::string text = fmt::format("{} ms at most in a local network", limits.latency_lan_ms);
  if (limits.latency_p99_ms) {
    text += fmt::format(", {} ms of the slowest but one of a hundred", *limits.latency_p99_ms);
  }
  return text;
}

void report_latency(JudgeContext& context, const FaultLocation& location) {
  const DirectedPath& path = context.input.paths()[location.paths[0]];
  // One pair among many, both well with others, had other load for a moment rather than a fault.
  const bool stray = location.place == Place::Pair && context.input.hosts() > 2;
  Finding finding =
      finding_of(context.input, location, "link.latency", stray ? Status::Info : Status::Warning);
  finding.check.found = fmt::format("{} on {}, the median of them",
                                    math::format_ms(median_of(context.input, location.paths)),
                                    counted(location.paths.size() / 2, "pair", "pairs"));
  finding.check.wanted = wanted_words(context.input.limits());
  finding.check.next_step =
      with_note(test_by_hand(context.input, path.from, path.to, "probe latency"),
                "look for power saving, interrupt moderation, a queue that never empties");
  finding.evidence.push_back(
      {"round trip " + words_for(context.input, path), *path.pair->rtt_ms, "ms", "probe latency"});
  context.add(std::move(finding));
}

// Of one network each: what is as far as a WAN there, among neighbours that are near.
std::vector<Tested> far_in(const ClusterInput& input) {
  std::vector<const std::string*> network(input.hosts());
  const auto networks = networks_of(input);
  for (const auto& [name, hosts] : networks) {
    for (const HostIndex host : hosts) {
      network[host] = &name;
    }
  }
  return tested_paths(input, [&](PathIndex, const DirectedPath& path) {
    return path.pair->rtt_ms && network[path.from] != nullptr &&
                   network[path.from] == network[path.to]
               ? std::optional(input.is_wan(path))
               : std::nullopt;
  });
}

// No host is at fault: a tunnel between sites may well be one network.
void report_far(JudgeContext& context, const FaultLocation& location) {
  Finding finding = finding_of(context.input, location, "link.latency", Status::Info);
  finding.check.found = fmt::format("{} on {}, within one network",
                                    math::format_ms(median_of(context.input, location.paths)),
                                    counted(location.paths.size() / 2, "pair", "pairs"));
  finding.check.wanted = fmt::format("below {} ms, unless another site is meant to be in it",
                                     context.input.limits().wan_rtt_ms);
  finding.check.why = "it is judged as a WAN: no port's rate is asked of it";
  const DirectedPath& path = context.input.paths()[location.paths[0]];
  finding.check.next_step = test_by_hand(context.input, path.from, path.to, "probe path");
  context.add(std::move(finding));
}

}  // namespace

void judge_latency(JudgeContext& context) {
  const ClusterInput& input = context.input;
  const std::vector<Tested> tested = tested_paths(input, [&](PathIndex, const DirectedPath& path) {
    return path.pair->rtt_ms && !input.is_wan(path) ? std::optional(is_long(context, *path.pair))
                                                    : std::nullopt;
  });
  const auto located = locate_faults(input.hosts(), tested);
  for (const FaultLocation& one : located) {
    report_latency(context, one);
  }
  for (const FaultLocation& one : locate_faults(input.hosts(), far_in(input))) {
    if (one.place != Place::Cluster && input.hosts() > 2) {
      report_far(context, one);
    }
  }
  if (located.empty() && !tested.empty()) {
    std::vector<PathIndex> paths;
    std::ranges::transform(tested, std::back_inserter(paths), &Tested::path);
    context.pass("link.latency",
                 fmt::format("{}, the median of {}", math::format_ms(median_of(input, paths)),
                             counted(tested.size() / 2, "pair", "pairs")));
  }
}

}  // namespace chokepoint::preflight
