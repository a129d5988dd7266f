#include "preflight/judge/judge.h"

#include <algorithm>

#include "preflight/judge/findings.h"

namespace chokepoint::preflight {

Judgement judge(const Measured& measured, const Limits& limits, const Measured* before) {
  const ClusterInput input(measured, limits);
  const Earlier earlier(input, before);
  const Expectations expectations(input, earlier);
  const Speeds speeds = speeds_of(input, expectations);
  JudgeContext context{input, earlier, expectations, speeds, is_short_of_processors(input)};
  context.explained.resize(input.paths().size());
  judge_presence(context);
  judge_versions(context);
  judge_names(context);
  judge_ports(context);
  judge_slots(context);
  judge_troubles(context);
  judge_families(context);
  judge_latency(context);
  judge_clocks(context);
  judge_mtus(context);
  judge_ring(context);
  judge_members(context);
  judge_loss(context);
  judge_windows(context);
  judge_uplinks(context);
  judge_processors(context);
  judge_rates(context);
  judge_sharing(context);
  judge_rdma(context);
  judge_collective(context);
  judge_host_checks(context);
  judge_baseline(context);
  std::ranges::stable_sort(context.findings, std::greater<>(),
                           [](const Finding& one) { return one.check.status; });
  Judgement judgement{.findings = std::move(context.findings)};
  if (!judgement.findings.empty()) {
    judgement.verdict = judgement.findings.front().check.status;
  }
  return judgement;
}

}  // namespace chokepoint::preflight
