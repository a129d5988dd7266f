#include "analysis/attribution/starvation.h"

#include <algorithm>

#include "analysis/attribution/hosts.h"

namespace chokepoint::analysis {

void add_starvation(const DiagnosisInput& input, Findings& findings) {
  for (Verdict& verdict : findings.verdicts) {
    if (verdict.verdict != VerdictClass::SenderHost || verdict.cause != "process-cpu") {
      continue;
    }
    const auto node = std::ranges::find(input.run.nodes, verdict.where.from, &NodeData::name);
    if (node == input.run.nodes.end()) {
      continue;
    }
    const auto place = static_cast<std::size_t>(node - input.run.nodes.begin());
    const HostLoad load = load_of(*node, input.span_of(place));
    const double waited_ms = load.is_starved ? load.waited_percent / 100 * input.phases.step_ms : 0;
    const double computing_ms = input.phases.computing_ms - findings.of_computing_ms;
    const double more_ms =
        std::clamp(waited_ms - verdict.lost_ms_per_step, 0.0, std::max(0.0, computing_ms));
    verdict.lost_ms_per_step += more_ms;
    findings.accounting[Account::SenderHost] += more_ms;
    findings.of_computing_ms += more_ms;
  }
}

}  // namespace chokepoint::analysis
