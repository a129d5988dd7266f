#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"
#include "preflight/judge/retest_candidates.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

// The share of all paths that are slow only together: fewer are chance.
constexpr double kMinSharedPaths = 0.25;

// Paths between the groups that were slow in their round, and the results of repeats run alone.
struct Crossing {
  std::vector<PathIndex> slow = {};
  std::size_t well_alone = 0;
  std::size_t slow_alone = 0;
};

Crossing crossing_of(const JudgeContext& context, const Groups& groups) {
  const std::vector<std::uint8_t> sides =
      sides_of(context.input.hosts(), groups.first, groups.second);
  Crossing crossing;
  for (PathIndex index = 0; index < context.input.paths().size(); ++index) {
    const DirectedPath& path = context.input.paths()[index];
    const double least = context.expectations.least_in_round(context.speeds.expected[index]);
    if ((sides[path.from] | sides[path.to]) != 3 || context.explained[index] ||
        path.result->tcp_mbps.value_or(0) >= least || !path.result->tcp_mbps) {
      continue;
    }
    crossing.slow.push_back(index);
    if (path.result->alone_mbps) {
      ++(*path.result->alone_mbps < least ? crossing.slow_alone : crossing.well_alone);
    }
  }
  return crossing;
}

bool crosses(const CutResult& cut, const Groups& groups, std::size_t hosts) {
  const std::vector<std::uint8_t> sides = sides_of(hosts, groups.first, groups.second);
  return std::ranges::all_of(cut.paths, [&](const auto& path) {
    return path.first < hosts && path.second < hosts &&
           (sides[path.first] | sides[path.second]) == 3;
  });
}

// The cut's sides, in order; nothing of what a hostile document may have in both or beyond all.
Groups groups_of(const CutResult& cut, std::size_t hosts) {
  Groups groups;
  std::vector<bool> seen(hosts);
  const auto take = [&](const std::vector<HostIndex>& from, std::vector<HostIndex>& to) {
    for (const HostIndex host : from) {
      if (host < hosts && !seen[host]) {
        seen[host] = true;
        to.push_back(host);
      }
    }
    std::ranges::sort(to);
  };
  take(cut.left, groups.first);
  take(cut.right, groups.second);
  if (!groups.first.empty() && !groups.second.empty() &&
      groups.second.front() < groups.first.front()) {
    std::swap(groups.first, groups.second);
  }
  return groups;
}

// What the ways of a cut should carry all at once: each what it should alone, and no host more than
// its port.
std::optional<double> asked_of(const JudgeContext& context, const CutResult& cut) {
  if (cut.alone_mbps) {
    return cut.alone_mbps;
  }
  double sum = 0;
  for (const auto& [from, to] : cut.paths) {
    if (from >= context.input.hosts() || to >= context.input.hosts()) {
      return std::nullopt;
    }
    const Expectation sends = context.expectations.of_host(from);
    const Expectation receives = context.expectations.of_host(to);
    if (sends.basis == Basis::Nothing || receives.basis == Basis::Nothing) {
      return std::nullopt;
    }
    sum += std::min(sends.mbps, receives.mbps);
  }
  return sum;
}

bool falls_short(const JudgeContext& context, const CutResult& cut) {
  const std::optional<double> asked = asked_of(context, cut);
  return asked && cut.together_mbps < context.input.limits().uplink_share * *asked;
}

void add_cut(const JudgeContext& context, const CutResult& cut, Finding& finding) {
  const double asked = asked_of(context, cut).value_or(0);
  finding.check.status = grade_of(context.input.limits(), cut.together_mbps, asked);
  finding.check.found = fmt::format("{} while {} at it", rate_words(cut.together_mbps),
                                    counted(cut.paths.size(), "pair is", "pairs are"));
  finding.check.wanted =
      fmt::format("{} at least: alone they carry {}",
                  rate_words(context.input.limits().uplink_share * asked), rate_words(asked));
  finding.evidence.push_back(
      {"all pairs across at the same time", cut.together_mbps, "Mb/s", "probe tcp"});
  finding.evidence.push_back(
      {"the same, one after the other", asked, "Mb/s", cut.alone_mbps ? "probe tcp" : "facts"});
}

void add_rounds(const JudgeContext& context, const Crossing& crossing, Finding& finding) {
  double sum = 0;
  double wanted = 0;
  for (const PathIndex path : crossing.slow) {
    sum += context.input.paths()[path].result->tcp_mbps.value_or(0);
    wanted += context.speeds.expected[path].mbps;
  }
  const auto paths = static_cast<double>(crossing.slow.size());
  finding.check.status = grade_of(context.input.limits(), sum, wanted);
  finding.check.found =
      fmt::format("{} a path on the average of {} paths, while others are under load",
                  rate_words(sum / paths), crossing.slow.size());
  finding.check.wanted = fmt::format("{} a path, as alone", rate_words(wanted / paths));
}

// All hosts may be namespaces of one machine: its processors are short before any link is.
void doubt(bool is_doubtful, Finding& finding) {
  if (is_doubtful) {
    finding.check.status = Status::Info;
    finding.check.why =
        "the hosts' processors were busy throughout: it may be they, not the network";
  }
}

bool is_rate_known(const JudgeContext& context) {
  return std::ranges::none_of(context.speeds.expected, [](const Expectation& one) {
    return one.basis == Basis::Nothing || is_guessed(one);
  });
}

void report(JudgeContext& context, const Groups& groups, const Crossing& crossing,
            const CutResult* cut) {
  const FaultLocation location{.place = Place::Uplink,
                               .hosts = groups.first,
                               .others = groups.second,
                               .paths = crossing.slow};
  Finding finding = finding_of(context.input, location, "uplink.oversubscribed", Status::Warning);
  if (cut != nullptr) {
    add_cut(context, *cut, finding);
  } else {
    add_rounds(context, crossing, finding);
  }
  finding.check.why =
      "within each of the two groups and one pair at a time all is well: what they share between "
      "them carries less than they ask for together";
  doubt(context.expectations.are_processors_to_doubt(), finding);
  context.explain(crossing.slow);
  context.add(std::move(finding));
}

void judge_groups(JudgeContext& context, const Groups& groups) {
  const auto& cuts = context.input.measured().cuts;
  const Crossing crossing = crossing_of(context, groups);
  const auto cut = std::ranges::find_if(cuts, [&](const CutResult& one) {
    return !one.paths.empty() && crosses(one, groups, context.input.hosts());
  });
  const bool shown = cut != cuts.end() ? falls_short(context, *cut) : crossing.well_alone > 0;
  if (!crossing.slow.empty() && shown && crossing.well_alone >= crossing.slow_alone) {
    report(context, groups, crossing, cut == cuts.end() ? nullptr : &*cut);
  }
}

// Those that the rounds show by themselves, then those that a cut was laid between.
std::vector<Groups> groups_to_judge(const JudgeContext& context) {
  std::vector<Groups> all;
  if (auto found = find_groups(context.input, context.expectations)) {
    all.push_back(std::move(*found));
  }
  for (const CutResult& cut : context.input.measured().cuts) {
    Groups groups = groups_of(cut, context.input.hosts());
    if (are_groups(context.input, context.expectations, groups)) {
      all.push_back(std::move(groups));
    }
  }
  return all;
}

// A way that is much slower than its way back holds up the acknowledgements of the latter once both
// are at it: such a cut falls short whatever the hosts share.
bool has_lopsided_pair(const JudgeContext& context, const CutResult& cut) {
  const std::set<std::pair<HostIndex, HostIndex>> at_it(cut.paths.begin(), cut.paths.end());
  const std::vector<DirectedPath>& paths = context.input.paths();
  for (PathIndex index = 0; index < paths.size(); ++index) {
    const Figure there = rate_of(*paths[index].result);
    const Figure back = rate_of(*paths[index ^ 1U].result);
    if (there && back && *there < context.input.limits().link_critical_share * *back &&
        at_it.contains({paths[index].from, paths[index].to})) {
      return true;
    }
  }
  return false;
}

// Cuts that fall short though the rounds show no groups: everybody shares something.
void judge_other_cuts(JudgeContext& context) {
  const CutResult* worst = nullptr;
  for (const CutResult& cut : context.input.measured().cuts) {
    if (!cut.paths.empty() && falls_short(context, cut) &&
        (worst == nullptr || cut.together_mbps * *asked_of(context, *worst) <
                                 worst->together_mbps * *asked_of(context, cut))) {
      worst = &cut;
    }
  }
  if (worst == nullptr) {
    return;
  }
  const FaultLocation location{.place = Place::Cluster};
  Finding finding = finding_of(context.input, location, "uplink.oversubscribed", Status::Warning);
  add_cut(context, *worst, finding);
  finding.check.why =
      "each pair is well alone: something that all share carries less than they ask for together";
  doubt(context.is_short_of_processors, finding);
  if (!is_rate_known(context) || has_lopsided_pair(context, *worst)) {
    finding.check.status = Status::Info;
  }
  context.add(std::move(finding));
}

}  // namespace

void judge_uplinks(JudgeContext& context) {
  const std::size_t before = context.findings.size();
  for (const Groups& groups : groups_to_judge(context)) {
    if (context.findings.size() == before) {
      judge_groups(context, groups);
    }
  }
  if (context.findings.size() == before) {
    judge_other_cuts(context);
  }
  const auto& cuts = context.input.measured().cuts;
  if (context.findings.size() == before && !cuts.empty() && cuts[0].together_mbps > 0 &&
      asked_of(context, cuts[0])) {
    context.pass("uplink.oversubscribed",
                 fmt::format("{} over {} at once", rate_words(cuts[0].together_mbps),
                             counted(cuts[0].paths.size(), "pair", "pairs")));
  }
}

void judge_sharing(JudgeContext& context) {
  FaultLocation location{.place = Place::Cluster};
  std::size_t known = 0;
  for (PathIndex index = 0; index < context.input.paths().size(); ++index) {
    const Speed speed = context.speeds.speed[index];
    known += speed != Speed::Unknown ? 1 : 0;
    if (speed == Speed::Shared && !context.explained[index] &&
        !is_bound_by_processor(context.input, *context.input.paths()[index].result)) {
      location.paths.push_back(index);
    }
  }
  if (location.paths.empty() || context.has("uplink.oversubscribed", Status::Info)) {
    return;
  }
  const bool many = is_rate_known(context) && static_cast<double>(location.paths.size()) >
                                                  kMinSharedPaths * static_cast<double>(known);
  Finding finding =
      finding_of(context.input, location, "link.shared", many ? Status::Warning : Status::Info);
  finding.check.found = fmt::format("{} of {} reach their rate only with nothing else on",
                                    counted(location.paths.size(), "path", "paths"), known);
  finding.check.wanted = "the same while other pairs are at it";
  finding.check.why = "no two groups of hosts explain it: the switch itself, or a busy host";
  context.add(std::move(finding));
}

}  // namespace chokepoint::preflight
