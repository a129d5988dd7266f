#include "preflight/judge/loss.h"

#include <fmt/format.h>

#include <algorithm>

#include "preflight/judge/blame.h"
#include "preflight/judge/chance.h"
#include "preflight/judge/words.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

// Packets that are larger than one end takes all vanish: that is told as its MTU.
bool is_lost_for_size(const JudgeContext& desk, const Way& way) {
  return way.result->lost >= way.result->packets &&
         std::ranges::any_of(desk.findings, [&](const Finding& one) {
           return one.check.id == "link.mtu" && one.check.status >= Status::Warning &&
                  one.place == Place::Port &&
                  (std::ranges::find(one.hosts, way.from) != one.hosts.end() ||
                   std::ranges::find(one.hosts, way.to) != one.hosts.end());
         });
}

std::vector<Tested> tested_for_loss(const JudgeContext& desk) {
  const ClusterInput& scene = desk.scene;
  std::vector<Tested> tested;
  for (WayIndex index = 0; index < scene.ways().size(); ++index) {
    const Way& way = scene.ways()[index];
    if (way.result->packets > 0 && !is_lost_for_size(desk, way)) {
      tested.push_back({index, way.from, way.to, static_cast<double>(way.result->packets),
                        static_cast<double>(std::min(way.result->lost, way.result->packets))});
    }
  }
  return tested;
}

struct Count {
  double sent = 0;
  double lost = 0;
  double percent() const { return sent > 0 ? 100 * lost / sent : 0; }
};

Count count_of(const ClusterInput& scene, const std::vector<WayIndex>& ways) {
  Count count;
  for (const WayIndex way : ways) {
    count.sent += scene.ways()[way].result->packets;
    count.lost += scene.ways()[way].result->lost;
  }
  return count;
}

void add_evidence(const ClusterInput& scene, const std::vector<WayIndex>& ways, Finding& finding) {
  constexpr std::size_t kShown = 4;
  for (const WayIndex index : std::span(ways).first(std::min(ways.size(), kShown))) {
    const Way& way = scene.ways()[index];
    finding.evidence.push_back({"lost " + words_for(scene, way),
                                static_cast<double>(way.result->lost),
                                fmt::format("of {} packets", way.result->packets), "probe udp"});
  }
}

void report_loss(JudgeContext& desk, const Blame& blame) {
  const Limits& limits = desk.scene.limits();
  const Count count = count_of(desk.scene, blame.ways);
  Finding finding = finding_of(
      desk.scene, blame, "link.loss",
      count.percent() >= limits.loss_critical_percent ? Status::Critical : Status::Warning);
  finding.check.found = fmt::format("{:.3g} %: {} of {} packets on {}", count.percent(), count.lost,
                                    count.sent, counted(blame.ways.size(), "way", "ways"));
  finding.check.wanted = fmt::format("{} % at most, with nothing else on", limits.loss_percent);
  add_evidence(desk.scene, blame.ways, finding);
  desk.explain(blame.ways);
  desk.findings.push_back(std::move(finding));
}

void report_loss_passed(JudgeContext& desk, const std::vector<Tested>& tested) {
  Count all;
  for (const Tested& way : tested) {
    all.sent += way.sent;
    all.lost += way.lost;
  }
  Finding finding;
  finding.check = {.id = "link.loss", .status = Status::Pass, .subject = "cluster"};
  finding.check.found = fmt::format("{} of {} packets lost on {}", all.lost, all.sent,
                                    counted(tested.size(), "way", "ways"));
  desk.findings.push_back(std::move(finding));
}

}  // namespace

void judge_loss(JudgeContext& desk) {
  const Limits& limits = desk.scene.limits();
  const std::vector<Tested> tested = tested_for_loss(desk);
  const auto is_more = [&](const Part& part, double false_alarm) {
    const double expected = part.sent * limits.loss_percent / 100;
    return part.lost > 0 && chance_of_at_least(part.lost, expected) < false_alarm;
  };
  const auto blamed = blame(desk.scene.hosts(), tested, is_more, limits.loss_false_alarm);
  for (const Blame& one : blamed) {
    report_loss(desk, one);
  }
  if (blamed.empty() && !tested.empty()) {
    report_loss_passed(desk, tested);
  }
}

}  // namespace chokepoint::preflight
