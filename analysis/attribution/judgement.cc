#include "analysis/attribution/judgement.h"

#include <algorithm>
#include <cmath>

#include "analysis/attribution/advice.h"
#include "analysis/attribution/gpu_clocks.h"
#include "analysis/attribution/outages.h"
#include "analysis/attribution/ranks.h"

namespace chokepoint::analysis {
namespace {

constexpr double kUnexplainedPercent = 20;  // of the step: then nobody knows
constexpr std::size_t kStepsForSureness = 10;
constexpr double kLateUnseen = 0.6;  // a rank that the others wait for looks like computing, too

Accounting account_for(const Phases& phases, const Findings& findings) {
  Accounting accounting = findings.accounting;
  const double explained = accounting.sum();
  const double computing_ms = phases.computing_ms - findings.of_computing_ms;
  accounting[Account::Compute] = computing_ms;
  accounting[Account::Other] += std::max(0.0, phases.step_ms - computing_ms - explained);
  return accounting;
}

// One end alone sees who it waits for, but not why.
bool is_seen_from_both_ends(const RunData& run) {
  return std::ranges::all_of(run.connections, [](const Connection& connection) {
    return connection.ends[0] && connection.ends[1];
  });
}

bool is_loss(const Verdict& verdict) {
  return verdict.verdict == VerdictClass::LanLoss || verdict.verdict == VerdictClass::WanLoss;
}

// How much the largest stands out, how many steps it is seen in, and what the phases rest on.
double confidence_of(const DiagnosisInput& input, double share_percent, double next_percent) {
  const double margin = share_percent > 0 ? 1 - next_percent / share_percent : 0;
  const double above = std::min(1.0, share_percent / (4 * kMattersPercent));
  const double seen = std::min(1.0, static_cast<double>(input.steps.settled.size()) /
                                        static_cast<double>(kStepsForSureness));
  const double source = input.phases.source == PhaseSource::Library ? 1 : 0.8;
  const double ends = is_seen_from_both_ends(input.run) ? 1 : 0.6;
  return std::round(100 * (0.3 + 0.4 * margin + 0.25 * above) * seen * source * ends) / 100;
}

Verdict computing(const DiagnosisInput& input, double lost_percent) {
  Verdict verdict{.verdict = VerdictClass::Compute};
  verdict.share_percent = 100 * input.phases.computing_ms / input.phases.step_ms;
  verdict.confidence = confidence_of(input, 100 - lost_percent, lost_percent * 4);
  if (input.phases.source != PhaseSource::Library) {
    verdict.confidence = std::round(100 * kLateUnseen * verdict.confidence) / 100;
  }
  verdict.evidence.push_back({"computing, and communication hidden behind it",
                              input.phases.computing_ms, "ms", "steps and what was under way"});
  remark_clocks(input, verdict);
  advise(input, verdict);
  return verdict;
}

// Those that matter, the largest first.
std::vector<Verdict> weighed(const DiagnosisInput& input, std::vector<Verdict> verdicts) {
  std::ranges::sort(verdicts, std::ranges::greater{}, &Verdict::lost_ms_per_step);
  for (Verdict& verdict : verdicts) {
    verdict.share_percent = 100 * verdict.lost_ms_per_step / input.phases.step_ms;
  }
  std::erase_if(verdicts,
                [](const Verdict& verdict) { return verdict.share_percent < kMattersPercent; });
  for (std::size_t place = 0; place < verdicts.size(); ++place) {
    Verdict& verdict = verdicts[place];
    const double next = place + 1 < verdicts.size() ? verdicts[place + 1].share_percent : 0;
    verdict.confidence = confidence_of(input, verdict.share_percent, next);
    if (is_loss(verdict)) {
      explain_loss(input, verdict);
    }
    advise(input, verdict);
  }
  return verdicts;
}

// Where nothing that could be named takes much.
Verdict otherwise(const DiagnosisInput& input, double lost_percent, const Accounting& accounting,
                  std::vector<Evidence> hints) {
  const double other_percent = 100 * accounting[Account::Other] / input.phases.step_ms;
  if (const auto gone = gone_rank(input.run)) {
    return *gone;
  }
  if (other_percent < kUnexplainedPercent) {
    return computing(input, lost_percent);
  }
  return {.lost_ms_per_step = accounting[Account::Other],
          .share_percent = other_percent,
          .evidence = std::move(hints)};
}

}  // namespace

void judge(const DiagnosisInput& input, Findings findings, Diagnosis& diagnosis) {
  diagnosis.accounting = account_for(input.phases, findings);
  double largest_ms = 0;
  for (const Verdict& verdict : findings.verdicts) {
    largest_ms = std::max(largest_ms, verdict.lost_ms_per_step);
  }
  diagnosis.others = weighed(input, std::move(findings.verdicts));
  if (diagnosis.others.empty()) {
    diagnosis.verdict = otherwise(input, 100 * largest_ms / input.phases.step_ms,
                                  *diagnosis.accounting, std::move(findings.hints));
  } else {
    diagnosis.verdict = std::move(diagnosis.others.front());
    diagnosis.others.erase(diagnosis.others.begin());
  }
}

}  // namespace chokepoint::analysis
