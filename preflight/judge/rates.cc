#include "preflight/judge/rates.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/math/statistics.h"
#include "preflight/judge/blame.h"
#include "preflight/judge/shell.h"
#include "preflight/judge/words.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

std::vector<Tested> tested_for_rate(const JudgeContext& desk) {
  std::vector<Tested> tested;
  for (WayIndex index = 0; index < desk.scene.ways().size(); ++index) {
    const Way& way = desk.scene.ways()[index];
    if (desk.speeds.speed[index] != Speed::Unknown && !desk.explained[index]) {
      tested.push_back(
          {index, way.from, way.to, 1, desk.speeds.speed[index] == Speed::Slow ? 1.0 : 0.0});
    }
  }
  return tested;
}

struct Summary {
  double slowest = 0;
  double fastest = 0;
  double median = 0;
  WayIndex worst = 0;
};

Summary summary_of(const JudgeContext& desk, const std::vector<WayIndex>& ways) {
  std::vector<double> rates;
  Summary summary;
  for (const WayIndex way : ways) {
    const double rate = rate_of(*desk.scene.ways()[way].result).value_or(0);
    if (rates.empty() || rate < summary.slowest) {
      summary.slowest = rate;
      summary.worst = way;
    }
    summary.fastest = std::max(summary.fastest, rate);
    rates.push_back(rate);
  }
  summary.median = math::median(rates).value_or(0);
  return summary;
}

bool is_one_way(const Blame& blame) {
  return blame.place == Place::Way ||
         ((blame.place == Place::Port || blame.place == Place::Uplink) &&
          blame.sends != blame.receives);
}

std::string test_again(const JudgeContext& desk, WayIndex index) {
  const Way& way = desk.scene.ways()[index];
  return test_by_hand(desk.scene, way.from, way.to, "probe tcp");
}

// Before the comment behind the command; where there is no command, the step is the comment.
std::string and_test_again(const Blame& blame, const std::string& step, const std::string& test) {
  if (blame.place == Place::Uplink || blame.place == Place::Cluster) {
    return with_note(test, step);
  }
  std::string both = step;
  return both.insert(std::min(both.rfind(kNote), both.size()), "; " + test);
}

void add_evidence(const JudgeContext& desk, const std::vector<WayIndex>& ways, Finding& finding) {
  constexpr std::size_t kShown = 4;
  for (const WayIndex index : std::span(ways).first(std::min(ways.size(), kShown))) {
    const Way& way = desk.scene.ways()[index];
    const WayResult& result = *way.result;
    if (result.tcp_mbps) {
      finding.evidence.push_back({"throughput " + words_for(desk.scene, way), *result.tcp_mbps,
                                  "Mb/s", "probe tcp, others of its round at it"});
    }
    if (result.alone_mbps) {
      finding.evidence.push_back({"throughput " + words_for(desk.scene, way), *result.alone_mbps,
                                  "Mb/s", "probe tcp, nothing else on"});
    }
  }
}

Status status_of(const JudgeContext& desk, double rate, const Expectation& expected) {
  return rate < desk.scene.limits().link_critical_share * expected.mbps ? Status::Critical
                                                                        : Status::Warning;
}

std::string found_words(const Summary& summary, std::size_t ways) {
  if (ways == 1) {
    return rate_words(summary.slowest);
  }
  return fmt::format("{} on {} ways, {} to {}", rate_words(summary.median), ways,
                     rate_words(summary.slowest), rate_words(summary.fastest));
}

// Nobody tested it again, or the processors were busy everywhere: then only what is far off counts.
void doubt(const JudgeContext& desk, const Blame& blame, const Summary& summary, Finding& finding) {
  const Limits& limits = desk.scene.limits();
  const double expected = desk.speeds.expected[summary.worst].mbps;
  const bool repeated = std::ranges::any_of(blame.ways, [&](WayIndex way) {
    return desk.scene.ways()[way].result->alone_mbps.has_value();
  });
  const bool few = blame.place == Place::Way || blame.place == Place::Pair;
  if (!repeated && few && summary.median >= limits.link_few_share * expected) {
    finding.check.status = Status::Info;
    finding.check.why += "; slow while others were at it, and not tested again alone";
  } else if (desk.is_short_of_processors &&
             summary.median >= limits.link_critical_share * expected) {
    finding.check.status = Status::Info;
    finding.check.why += "; the hosts' processors were busy throughout: it may be they";
  }
}

void report_rate(JudgeContext& desk, const Blame& blame) {
  const Summary summary = summary_of(desk, blame.ways);
  const Expectation& expected = desk.speeds.expected[summary.worst];
  Finding finding = finding_of(desk.scene, blame, is_one_way(blame) ? "link.oneway" : "link.rate",
                               status_of(desk, summary.median, expected));
  finding.check.found = found_words(summary, blame.ways.size());
  finding.check.wanted =
      fmt::format("{} at least: {} {}", rate_words(desk.speeds.least[summary.worst]),
                  rate_words(expected.mbps), words_for(expected, desk.scene));
  finding.check.next_step =
      and_test_again(blame, finding.check.next_step, test_again(desk, summary.worst));
  add_evidence(desk, blame.ways, finding);
  doubt(desk, blame, summary, finding);
  desk.explain(blame.ways);
  desk.findings.push_back(std::move(finding));
}

void report_rate_passed(JudgeContext& desk) {
  std::size_t known = 0;
  std::size_t well = 0;
  for (const Speed speed : desk.speeds.speed) {
    known += speed != Speed::Unknown ? 1 : 0;
    well += speed == Speed::Well || speed == Speed::Shared ? 1 : 0;
  }
  if (well == 0) {
    return;
  }
  Finding finding;
  finding.check = {.id = "link.rate", .status = Status::Pass, .subject = "cluster"};
  finding.check.found =
      fmt::format("{} of {} reach their rate", counted(well, "way", "ways"), known);
  desk.findings.push_back(std::move(finding));
}

}  // namespace

void judge_rates(JudgeContext& desk) {
  const std::vector<Tested> tested = tested_for_rate(desk);
  for (const Blame& one : blame(desk.scene.hosts(), tested)) {
    report_rate(desk, one);
  }
  report_rate_passed(desk);
}

}  // namespace chokepoint::preflight
