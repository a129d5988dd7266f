#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/math/statistics.h"
#include "preflight/judge/fault_location.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

struct Summary {
  double slowest = 0;
  double fastest = 0;
  double median = 0;
  PathIndex worst = 0;
};

Summary summary_of(const JudgeContext& context, const std::vector<PathIndex>& paths) {
  std::vector<double> rates;
  Summary summary;
  for (const PathIndex path : paths) {
    const double rate = rate_of(*context.input.paths()[path].result).value_or(0);
    if (rates.empty() || rate < summary.slowest) {
      summary.slowest = rate;
      summary.worst = path;
    }
    summary.fastest = std::max(summary.fastest, rate);
    rates.push_back(rate);
  }
  summary.median = math::median(rates).value_or(0);
  return summary;
}

bool is_one_way(const FaultLocation& location) {
  return location.place == Place::DirectedPath ||
         ((location.place == Place::Port || location.place == Place::Uplink) &&
          location.sends != location.receives);
}

std::string test_again(const JudgeContext& context, PathIndex index) {
  const DirectedPath& path = context.input.paths()[index];
  return test_by_hand(context.input, path.from, path.to, "probe tcp");
}

// Before the comment behind the command; where there is no command, the step is the comment.
std::string and_test_again(const FaultLocation& location, const std::string& step,
                           const std::string& test) {
  if (location.place == Place::Uplink || location.place == Place::Cluster) {
    return with_note(test, step);
  }
  std::string both = step;
  return both.insert(std::min(both.rfind(kNote), both.size()), "; " + test);
}

void add_evidence(const JudgeContext& context, const std::vector<PathIndex>& paths,
                  Finding& finding) {
  constexpr std::size_t kShown = 4;
  for (const PathIndex index : std::span(paths).first(std::min(paths.size(), kShown))) {
    const DirectedPath& path = context.input.paths()[index];
    const PathResult& result = *path.result;
    if (result.tcp_mbps) {
      finding.evidence.push_back({"throughput " + words_for(context.input, path), *result.tcp_mbps,
                                  "Mb/s", "probe tcp, others of its round at it"});
    }
    if (result.alone_mbps) {
      finding.evidence.push_back({"throughput " + words_for(context.input, path),
                                  *result.alone_mbps, "Mb/s", "probe tcp, nothing else on"});
    }
  }
}

std::string found_words(const Summary& summary, std::size_t paths) {
  if (paths == 1) {
    return rate_words(summary.slowest);
  }
  return fmt::format("{} on {} paths, {} to {}", rate_words(summary.median), paths,
                     rate_words(summary.slowest), rate_words(summary.fastest));
}

// It was not tested again, or processors were full everywhere: then only a large difference counts.
void doubt(const JudgeContext& context, const FaultLocation& location, const Summary& summary,
           Finding& finding) {
  const Limits& limits = context.input.limits();
  const double expected = context.speeds.expected[summary.worst].mbps;
  const bool repeated = std::ranges::any_of(location.paths, [&](PathIndex path) {
    return context.input.paths()[path].result->alone_mbps.has_value();
  });
  const bool few = location.place == Place::DirectedPath || location.place == Place::Pair;
  if (!repeated && few && summary.median >= limits.link_few_share * expected) {
    finding.check.status = Status::Info;
    finding.check.why += "; slow while others were at it, and not tested again alone";
  } else if (context.is_short_of_processors &&
             summary.median >= limits.link_critical_share * expected) {
    finding.check.status = Status::Info;
    finding.check.why += "; the hosts' processors were busy throughout: it may be they";
  }
}

void report_rate(JudgeContext& context, const FaultLocation& location) {
  const Summary summary = summary_of(context, location.paths);
  const Expectation& expected = context.speeds.expected[summary.worst];
  Finding finding =
      finding_of(context.input, location, is_one_way(location) ? "link.oneway" : "link.rate",
                 grade_of(context.input.limits(), summary.median, expected.mbps));
  finding.check.found = found_words(summary, location.paths.size());
  finding.check.wanted =
      fmt::format("{} at least: {} {}", rate_words(context.speeds.least[summary.worst]),
                  rate_words(expected.mbps), words_for(expected, context.input));
  finding.check.next_step =
      and_test_again(location, finding.check.next_step, test_again(context, summary.worst));
  add_evidence(context, location.paths, finding);
  doubt(context, location, summary, finding);
  context.explain(location.paths);
  context.add(std::move(finding));
}

void report_rate_passed(JudgeContext& context) {
  std::size_t known = 0;
  std::size_t well = 0;
  for (const Speed speed : context.speeds.speed) {
    known += speed != Speed::Unknown ? 1 : 0;
    well += speed == Speed::Well || speed == Speed::Shared ? 1 : 0;
  }
  if (well > 0) {
    context.pass("link.rate",
                 fmt::format("{} of {} reach their rate", counted(well, "path", "paths"), known));
  }
}

using Failures = std::map<std::uint64_t, std::vector<const Trouble*>>;

// Of pairs whose hosts are both there: one that went is a finding of its own.
Failures failures_of(const ClusterInput& input) {
  Failures failures;
  for (const Trouble& trouble : input.measured().troubles) {
    if (trouble.a < input.hosts() && trouble.b < input.hosts() && trouble.a != trouble.b &&
        input.is_present(trouble.a) && input.is_present(trouble.b)) {
      failures[pair_key(trouble.a, trouble.b)].push_back(&trouble);
    }
  }
  return failures;
}

// A pair that was tested stands as a way each; what failed need not be among the pairs at all.
std::vector<Tested> tested_in(const ClusterInput& input, const Failures& failures) {
  std::vector<Tested> tested;
  const auto add = [&](HostIndex a, HostIndex b, double lost) {
    tested.push_back({0, a, b, 1, lost});
    tested.push_back({0, b, a, 1, lost});
  };
  std::set<std::uint64_t> seen;
  for (std::size_t index = 0; index < input.paths().size(); index += 2) {
    const DirectedPath& path = input.paths()[index];
    const std::uint64_t key = pair_key(path.from, path.to);
    seen.insert(key);
    add(path.from, path.to, failures.contains(key) ? 1.0 : 0.0);
  }
  for (const auto& [key, troubles] : failures) {
    if (!seen.contains(key)) {
      add(troubles[0]->a, troubles[0]->b, 1);
    }
  }
  for (PathIndex index = 0; index < tested.size(); ++index) {
    tested[index].path = index;
  }
  return tested;
}

// The tests as users know them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kCommands{
    {{"latency", "probe latency"},
     {"loss", "probe udp"},
     {"path", "probe path"},
     {"tcp", "probe tcp"},
     {"rdma_bandwidth", "rdma write bw"},
     {"rdma_latency", "rdma write lat"}}};

std::string_view command_for(std::string_view test) {
  const auto* at =
      std::ranges::find(kCommands, test, &std::pair<std::string_view, std::string_view>::first);
  return at == kCommands.end() ? "probe path" : at->second;
}

std::string tests_of(const Failures& failures, const std::vector<Tested>& tested,
                     const FaultLocation& location) {
  std::set<std::string> tests;
  for (const PathIndex path : location.paths) {
    for (const Trouble* trouble : failures.at(pair_key(tested[path].from, tested[path].to))) {
      tests.insert(trouble->test);
    }
  }
  std::string text;
  for (const std::string& test : tests) {
    text += (text.empty() ? "" : ", ") + std::string(command_for(test));
  }
  return text;
}

void report(JudgeContext& context, const Failures& failures, const std::vector<Tested>& tested,
            const FaultLocation& location) {
  const Tested& first = tested[location.paths[0]];
  const Trouble& trouble = *failures.at(pair_key(first.from, first.to))[0];
  FaultLocation without_paths = location;
  without_paths.paths.clear();
  Finding finding = finding_of(context.input, without_paths, "test.failed", Status::Critical);
  finding.place = location.place == Place::Port ? Place::Host : location.place;
  finding.check.found = fmt::format("{} failed between {}", tests_of(failures, tested, location),
                                    counted((location.paths.size() + 1) / 2, "pair", "pairs"));
  finding.check.wanted = "a result";
  finding.check.why = describe(trouble.error);
  finding.check.next_step =
      with_note(test_by_hand(context.input, trouble.a, trouble.b, command_for(trouble.test)),
                "look for a firewall between them");
  for (const PathIndex path : location.paths) {
    finding.paths.emplace_back(tested[path].from, tested[path].to);
  }
  context.add(std::move(finding));
}

void judge_family(JudgeContext& context, std::string_view name, FamilyState PairResult::* state) {
  const auto tested = tested_paths(context.input, [&](PathIndex, const DirectedPath& path) {
    const FamilyState found = path.pair->*state;
    return found == FamilyState::Works || found == FamilyState::Fails
               ? std::optional(found == FamilyState::Fails)
               : std::nullopt;
  });
  for (const FaultLocation& one : locate_faults(context.input.hosts(), tested)) {
    const DirectedPath& path = context.input.paths()[one.paths[0]];
    Finding finding = finding_of(context.input, one, "link.families", Status::Warning);
    finding.check.found = fmt::format("{} does not carry between {}", name,
                                      counted(one.paths.size() / 2, "pair", "pairs"));
    finding.check.wanted = "every family that both hosts have an address of";
    finding.check.why = "programs that try it first lose time, or fail where they do not fall back";
    finding.check.next_step = test_by_hand(context.input, path.from, path.to, "probe path") +
                              "  # look at firewalls and routes of " + std::string(name);
    context.add(std::move(finding));
  }
}

}  // namespace

void judge_rates(JudgeContext& context) {
  const auto tested = tested_paths(context.input, [&](PathIndex index, const DirectedPath&) {
    const Speed speed = context.speeds.speed[index];
    return speed != Speed::Unknown && !context.explained[index]
               ? std::optional(speed == Speed::Slow)
               : std::nullopt;
  });
  for (const FaultLocation& one : locate_faults(context.input.hosts(), tested)) {
    report_rate(context, one);
  }
  report_rate_passed(context);
}

void judge_troubles(JudgeContext& context) {
  const Failures failures = failures_of(context.input);
  if (failures.empty()) {
    return;
  }
  const std::vector<Tested> tested = tested_in(context.input, failures);
  for (const FaultLocation& one : locate_faults(context.input.hosts(), tested)) {
    report(context, failures, tested, one);
  }
}

void judge_families(JudgeContext& context) {
  judge_family(context, "IPv4", &PairResult::ipv4);
  judge_family(context, "IPv6", &PairResult::ipv6);
}

}  // namespace chokepoint::preflight
