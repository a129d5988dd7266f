#include "analysis/report/step_bars.h"

#include <algorithm>

namespace chokepoint::analysis {

std::vector<StepBar> step_bars(const std::vector<StepAccounts>& accounts, const StepLine& steps,
                               std::size_t most) {
  std::vector<StepBar> bars;
  const std::size_t together =
      std::max<std::size_t>(1, (accounts.size() + most - 1) / std::max<std::size_t>(most, 1));
  for (std::size_t first = 0; first < accounts.size(); first += together) {
    const std::size_t count = std::min(together, accounts.size() - first);
    const std::int64_t start_ns = accounts[first].span.start_ns;
    const auto number = std::ranges::lower_bound(steps.all, start_ns, {}, &Span::start_ns);
    StepBar bar{.number = number - steps.all.begin() + 1,
                .start_ns = start_ns,
                .count = static_cast<std::int64_t>(count)};
    for (std::size_t step = first; step < first + count; ++step) {
      for (std::size_t account = 0; account < kAccounts; ++account) {
        bar.accounting.ms.at(account) +=
            accounts[step].accounting.ms.at(account) / static_cast<double>(count);
      }
    }
    bars.push_back(bar);
  }
  return bars;
}

}  // namespace chokepoint::analysis
