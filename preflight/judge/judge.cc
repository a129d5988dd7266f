#include "preflight/judge/judge.h"

#include <algorithm>

#include "preflight/judge/baseline.h"
#include "preflight/judge/clocks.h"
#include "preflight/judge/desk.h"
#include "preflight/judge/doctors.h"
#include "preflight/judge/hardware.h"
#include "preflight/judge/latency.h"
#include "preflight/judge/loss.h"
#include "preflight/judge/mtu.h"
#include "preflight/judge/names.h"
#include "preflight/judge/presence.h"
#include "preflight/judge/processors.h"
#include "preflight/judge/rates.h"
#include "preflight/judge/troubles.h"
#include "preflight/judge/uplinks.h"
#include "preflight/judge/windows.h"

namespace chokepoint::preflight {

Judgement judge(const Measured& measured, const Limits& limits, const Measured* before) {
  const ClusterInput scene(measured, limits);
  const Earlier earlier(scene, before);
  const Expectations expectations(scene, earlier);
  const Speeds speeds = speeds_of(scene, expectations);
  JudgeContext desk{scene, earlier, expectations, speeds, is_short_of_processors(scene)};
  desk.explained.resize(scene.ways().size());
  judge_presence(desk);
  judge_versions(desk);
  judge_names(desk);
  judge_ports(desk);
  judge_slots(desk);
  judge_troubles(desk);
  judge_families(desk);
  judge_latency(desk);
  judge_clocks(desk);
  judge_mtus(desk);
  judge_loss(desk);
  judge_windows(desk);
  judge_uplinks(desk);
  judge_processors(desk);
  judge_rates(desk);
  judge_sharing(desk);
  judge_rdma(desk);
  judge_collective(desk);
  judge_doctors(desk);
  judge_baseline(desk);
  std::ranges::stable_sort(desk.findings, std::greater<>(),
                           [](const Finding& one) { return one.check.status; });
  Judgement judgement{.findings = std::move(desk.findings)};
  if (!judgement.findings.empty()) {
    judgement.verdict = judgement.findings.front().check.status;
  }
  return judgement;
}

}  // namespace chokepoint::preflight
