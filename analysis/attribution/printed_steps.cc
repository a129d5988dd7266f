#include "analysis/attribution/printed_steps.h"

#include <algorithm>

#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

StepTimes printed_times_of(const std::vector<PrintedSteps>& steps) {
  std::vector<double> ms;
  double sum_ms = 0;
  std::int64_t count = 0;
  for (const PrintedSteps& each : steps) {
    ms.push_back(each.ms);
    sum_ms += each.ms * static_cast<double>(each.count);
    count += static_cast<std::int64_t>(each.count);
  }
  return {.source = record::StepSource::Output,
          .count = count,
          .settled = count,
          .mean_ms = sum_ms / static_cast<double>(std::max<std::int64_t>(count, 1)),
          .median_ms = math::median(ms),
          .p99_ms = math::quantile(ms, 0.99)};
}

}  // namespace

void add_printed_steps(const std::vector<ToolFile>& files, const std::vector<Claim>& claims,
                       Diagnosis& diagnosis) {
  const auto* longest =
      math::most_by(files, [](const ToolFile& file) { return file.printed.size(); });
  if (diagnosis.steps.source || longest == nullptr || longest->printed.empty()) {
    return;
  }
  diagnosis.steps = printed_times_of(longest->printed);
  for (const Claim& claim : claims) {
    if (claim.about == Claim::About::Unusual) {
      diagnosis.verdict.evidence.push_back({claim.what, claim.value, claim.unit, claim.from});
    }
  }
}

}  // namespace chokepoint::analysis
