#include "preflight/judge/judge.h"

#include <algorithm>

#include "preflight/judge/desk.h"
#include "preflight/judge/loss.h"
#include "preflight/judge/presence.h"
#include "preflight/judge/rates.h"

namespace chokepoint::preflight {

Judgement judge(const Measured& measured, const Limits& limits, const Measured* before) {
  const Scene scene(measured, limits);
  const Earlier earlier(scene, before);
  const Expectations expectations(scene, earlier);
  Desk desk{scene, earlier, expectations, std::vector<bool>(scene.ways().size())};
  judge_presence(desk);
  judge_versions(desk);
  judge_loss(desk);
  judge_rates(desk);
  std::ranges::stable_sort(desk.findings, std::greater<>(),
                           [](const Finding& one) { return one.check.status; });
  Judgement judgement{.findings = std::move(desk.findings)};
  if (!judgement.findings.empty()) {
    judgement.verdict = judgement.findings.front().check.status;
  }
  return judgement;
}

}  // namespace chokepoint::preflight
