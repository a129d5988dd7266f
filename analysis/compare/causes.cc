#include "analysis/compare/causes.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::analysis {

std::vector<Cause> causes_of(const Accounting& before, const Accounting& after) {
  constexpr double kSmallPercent = 5;
  constexpr double kNoMs = 1e-6;
  const double step_ms = after.sum() - before.sum();
  std::vector<Cause> causes;
  if (std::abs(step_ms) < kNoMs) {
    return causes;
  }
  for (std::size_t at = 0; at < kAccounts; ++at) {
    const double ms = after.ms[at] - before.ms[at];
    const double share = ms / step_ms * 100;
    if (share >= kSmallPercent) {
      causes.push_back(
          {.account = static_cast<Account>(at), .ms_per_step = ms, .share_percent = share});
    }
  }
  std::ranges::stable_sort(causes, std::greater<>{}, &Cause::share_percent);
  return causes;
}

}  // namespace chokepoint::analysis
