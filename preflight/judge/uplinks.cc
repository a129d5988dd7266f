#include "preflight/judge/uplinks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "preflight/judge/find_groups.h"
#include "preflight/judge/shell.h"
#include "preflight/judge/words.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

constexpr double kManyShared = 0.25;  // of all ways: more than a few unlucky ones

std::vector<std::uint8_t> sides_of(std::size_t hosts, const Groups& groups) {
  std::vector<std::uint8_t> sides(hosts);
  for (const HostIndex host : groups.first) {
    sides[host] = 1;
  }
  for (const HostIndex host : groups.second) {
    sides[host] = 2;
  }
  return sides;
}

// Ways between the groups that were slow in their round, and what repeats alone said of them.
struct Crossing {
  std::vector<WayIndex> slow = {};
  std::size_t well_alone = 0;
  std::size_t slow_alone = 0;
};

Crossing crossing_of(const JudgeContext& desk, const Groups& groups) {
  const std::vector<std::uint8_t> sides = sides_of(desk.scene.hosts(), groups);
  Crossing crossing;
  for (WayIndex index = 0; index < desk.scene.ways().size(); ++index) {
    const Way& way = desk.scene.ways()[index];
    const double least = desk.expectations.least_in_round(desk.speeds.expected[index]);
    if ((sides[way.from] | sides[way.to]) != 3 || desk.explained[index] ||
        way.result->tcp_mbps.value_or(0) >= least || !way.result->tcp_mbps) {
      continue;
    }
    crossing.slow.push_back(index);
    if (way.result->alone_mbps) {
      ++(*way.result->alone_mbps < least ? crossing.slow_alone : crossing.well_alone);
    }
  }
  return crossing;
}

bool crosses(const CutResult& cut, const Groups& groups, std::size_t hosts) {
  const std::vector<std::uint8_t> sides = sides_of(hosts, groups);
  return std::ranges::all_of(cut.ways, [&](const auto& way) {
    return way.first < hosts && way.second < hosts && (sides[way.first] | sides[way.second]) == 3;
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
std::optional<double> asked_of(const JudgeContext& desk, const CutResult& cut) {
  if (cut.alone_mbps) {
    return cut.alone_mbps;
  }
  double sum = 0;
  for (const auto& [from, to] : cut.ways) {
    if (from >= desk.scene.hosts() || to >= desk.scene.hosts()) {
      return std::nullopt;
    }
    const Expectation sends = desk.expectations.of_host(from);
    const Expectation receives = desk.expectations.of_host(to);
    if (sends.basis == Basis::Nothing || receives.basis == Basis::Nothing) {
      return std::nullopt;
    }
    sum += std::min(sends.mbps, receives.mbps);
  }
  return sum;
}

bool falls_short(const JudgeContext& desk, const CutResult& cut) {
  const std::optional<double> asked = asked_of(desk, cut);
  return asked && cut.together_mbps < desk.scene.limits().uplink_share * *asked;
}

Status status_of(const JudgeContext& desk, double carried, double asked) {
  return carried < desk.scene.limits().link_critical_share * asked ? Status::Critical
                                                                   : Status::Warning;
}

void add_cut(const JudgeContext& desk, const CutResult& cut, Finding& finding) {
  const double asked = asked_of(desk, cut).value_or(0);
  finding.check.status = status_of(desk, cut.together_mbps, asked);
  finding.check.found = fmt::format("{} while {} at it", rate_words(cut.together_mbps),
                                    counted(cut.ways.size(), "pair is", "pairs are"));
  finding.check.wanted =
      fmt::format("{} at least: alone they carry {}",
                  rate_words(desk.scene.limits().uplink_share * asked), rate_words(asked));
  finding.evidence.push_back(
      {"all pairs across at the same time", cut.together_mbps, "Mb/s", "probe tcp"});
  finding.evidence.push_back(
      {"the same, one after the other", asked, "Mb/s", cut.alone_mbps ? "probe tcp" : "facts"});
}

void add_rounds(const JudgeContext& desk, const Crossing& crossing, Finding& finding) {
  double sum = 0;
  double wanted = 0;
  for (const WayIndex way : crossing.slow) {
    sum += desk.scene.ways()[way].result->tcp_mbps.value_or(0);
    wanted += desk.speeds.expected[way].mbps;
  }
  const auto ways = static_cast<double>(crossing.slow.size());
  finding.check.status = status_of(desk, sum, wanted);
  finding.check.found = fmt::format("{} a way on the average of {} ways, while others are at it",
                                    rate_words(sum / ways), crossing.slow.size());
  finding.check.wanted = fmt::format("{} a way, as alone", rate_words(wanted / ways));
}

// As on one machine that plays all hosts.
void doubt(bool is_doubtful, Finding& finding) {
  if (is_doubtful) {
    finding.check.status = Status::Info;
    finding.check.why =
        "the hosts' processors were busy throughout: it may be they, not the network";
  }
}

bool is_rate_known(const JudgeContext& desk) {
  return std::ranges::none_of(desk.speeds.expected, [](const Expectation& one) {
    return one.basis == Basis::Nothing || is_guessed(one);
  });
}

void report(JudgeContext& desk, const Groups& groups, const Crossing& crossing,
            const CutResult* cut) {
  const Blame blame{.place = Place::Uplink,
                    .hosts = groups.first,
                    .others = groups.second,
                    .ways = crossing.slow};
  Finding finding = finding_of(desk.scene, blame, "uplink.oversubscribed", Status::Warning);
  if (cut != nullptr) {
    add_cut(desk, *cut, finding);
  } else {
    add_rounds(desk, crossing, finding);
  }
  finding.check.why =
      "within each of the two groups and one pair at a time all is well: what they share between "
      "them carries less than they ask for together";
  doubt(desk.expectations.are_processors_to_doubt(), finding);
  desk.explain(crossing.slow);
  desk.findings.push_back(std::move(finding));
}

void judge_groups(JudgeContext& desk, const Groups& groups) {
  const auto& cuts = desk.scene.measured().cuts;
  const Crossing crossing = crossing_of(desk, groups);
  const auto cut = std::ranges::find_if(cuts, [&](const CutResult& one) {
    return !one.ways.empty() && crosses(one, groups, desk.scene.hosts());
  });
  const bool shown = cut != cuts.end() ? falls_short(desk, *cut) : crossing.well_alone > 0;
  if (!crossing.slow.empty() && shown && crossing.well_alone >= crossing.slow_alone) {
    report(desk, groups, crossing, cut == cuts.end() ? nullptr : &*cut);
  }
}

// Those that the rounds show by themselves, then those that a cut was laid between.
std::vector<Groups> groups_to_judge(const JudgeContext& desk) {
  std::vector<Groups> all;
  if (auto found = find_groups(desk.scene, desk.expectations)) {
    all.push_back(std::move(*found));
  }
  for (const CutResult& cut : desk.scene.measured().cuts) {
    Groups groups = groups_of(cut, desk.scene.hosts());
    if (are_groups(desk.scene, desk.expectations, groups)) {
      all.push_back(std::move(groups));
    }
  }
  return all;
}

// A way that is much slower than its way back holds up the acknowledgements of the latter once both
// are at it: such a cut falls short whatever the hosts share.
bool has_lopsided_pair(const JudgeContext& desk, const CutResult& cut) {
  const std::set<std::pair<HostIndex, HostIndex>> at_it(cut.ways.begin(), cut.ways.end());
  const std::vector<Way>& ways = desk.scene.ways();
  for (WayIndex index = 0; index < ways.size(); ++index) {
    const Figure there = rate_of(*ways[index].result);
    const Figure back = rate_of(*ways[index ^ 1U].result);
    if (there && back && *there < desk.scene.limits().link_critical_share * *back &&
        at_it.contains({ways[index].from, ways[index].to})) {
      return true;
    }
  }
  return false;
}

// Cuts that fall short though the rounds show no groups: everybody shares something.
void judge_other_cuts(JudgeContext& desk) {
  const CutResult* worst = nullptr;
  for (const CutResult& cut : desk.scene.measured().cuts) {
    if (!cut.ways.empty() && falls_short(desk, cut) &&
        (worst == nullptr || cut.together_mbps * *asked_of(desk, *worst) <
                                 worst->together_mbps * *asked_of(desk, cut))) {
      worst = &cut;
    }
  }
  if (worst == nullptr) {
    return;
  }
  const Blame blame{.place = Place::Cluster};
  Finding finding = finding_of(desk.scene, blame, "uplink.oversubscribed", Status::Warning);
  add_cut(desk, *worst, finding);
  finding.check.why =
      "each pair is well alone: something that all share carries less than they ask for together";
  doubt(desk.is_short_of_processors, finding);
  if (!is_rate_known(desk) || has_lopsided_pair(desk, *worst)) {
    finding.check.status = Status::Info;
  }
  desk.findings.push_back(std::move(finding));
}

void report_uplinks_passed(JudgeContext& desk) {
  const auto& cuts = desk.scene.measured().cuts;
  if (cuts.empty() || cuts[0].together_mbps <= 0 || !asked_of(desk, cuts[0])) {
    return;
  }
  Finding finding;
  finding.check = {.id = "uplink.oversubscribed", .status = Status::Pass, .subject = "cluster"};
  finding.check.found = fmt::format("{} over {} at once", rate_words(cuts[0].together_mbps),
                                    counted(cuts[0].ways.size(), "pair", "pairs"));
  desk.findings.push_back(std::move(finding));
}

}  // namespace

void judge_uplinks(JudgeContext& desk) {
  const std::size_t before = desk.findings.size();
  for (const Groups& groups : groups_to_judge(desk)) {
    if (desk.findings.size() == before) {
      judge_groups(desk, groups);
    }
  }
  if (desk.findings.size() == before) {
    judge_other_cuts(desk);
  }
  if (desk.findings.size() == before) {
    report_uplinks_passed(desk);
  }
}

void judge_sharing(JudgeContext& desk) {
  Blame blame{.place = Place::Cluster};
  std::size_t known = 0;
  for (WayIndex index = 0; index < desk.scene.ways().size(); ++index) {
    const Speed speed = desk.speeds.speed[index];
    known += speed != Speed::Unknown ? 1 : 0;
    if (speed == Speed::Shared && !desk.explained[index] &&
        !is_bound_by_processor(desk.scene, *desk.scene.ways()[index].result)) {
      blame.ways.push_back(index);
    }
  }
  if (blame.ways.empty() || desk.has("uplink.oversubscribed", Status::Info)) {
    return;
  }
  const bool many = is_rate_known(desk) && static_cast<double>(blame.ways.size()) >
                                               kManyShared * static_cast<double>(known);
  Finding finding =
      finding_of(desk.scene, blame, "link.shared", many ? Status::Warning : Status::Info);
  finding.check.found = fmt::format("{} of {} reach their rate only with nothing else on",
                                    counted(blame.ways.size(), "way", "ways"), known);
  finding.check.wanted = "the same while other pairs are at it";
  finding.check.why = "no two groups of hosts explain it: the switch itself, or a busy host";
  desk.findings.push_back(std::move(finding));
}

}  // namespace chokepoint::preflight
