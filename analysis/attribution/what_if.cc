#include "analysis/attribution/what_if.h"

#include <algorithm>
#include <cstddef>

#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr double kWhatIfShare = 0.5;     // what-if: the account takes half as long
constexpr double kMinShownShare = 0.01;  // of the step; a smaller effect is not shown

using Accounts = std::vector<Account>;

// Which accounts stand for time of exchanges, and which for time that looked like computing.
struct Kinds {
  Accounts of_exchanges{Account::Link,    Account::Loss,         Account::Window,
                        Account::Library, Account::ReceiverHost, Account::SenderHost,
                        Account::Latency};
  Accounts of_computing{Account::Compute, Account::Input, Account::Storage};
};

double sum_of(const Accounting& accounting, const Accounts& accounts) {
  return math::sum_by(accounts, [&](Account account) { return accounting[account]; });
}

// A card's slot may hold up what it sends, or copies between a GPU and its host.
Kinds kinds_of(const Accounting& accounting, const Phases& phases) {
  Kinds kinds;
  const double with_slot_ms = sum_of(accounting, kinds.of_exchanges) + accounting[Account::Pcie];
  (with_slot_ms > phases.exposed_ms * (1 + kMinShownShare) ? kinds.of_computing
                                                           : kinds.of_exchanges)
      .push_back(Account::Pcie);
  return kinds;
}

double share_of(const Accounting& accounting, Account account, const Accounts& among) {
  const double sum = sum_of(accounting, among);
  return std::ranges::count(among, account) > 0 && sum > 0 ? accounting[account] / sum : 0;
}

CauseShares shares_of(const Accounting& accounting, Account account, const Kinds& kinds) {
  return {.computing = share_of(accounting, account, kinds.of_computing),
          .transfer = share_of(accounting, account, kinds.of_exchanges),
          .late = account == Account::Straggler ? 1.0 : 0.0};
}

}  // namespace

std::vector<WhatIf> what_ifs_of(const std::optional<Replay>& replay, const Inquiry& inquiry,
                                const std::vector<StepAccounts>& steps) {
  const auto& accounting = inquiry.diagnosis.accounting;
  if (!accounting || !inquiry.limit_timeline || steps.empty()) {
    return {};
  }
  const Kinds kinds = kinds_of(*accounting, inquiry.phases);
  std::vector<WhatIf> what_ifs;
  for (std::size_t number = 0; replay && number < kAccounts; ++number) {
    const auto account = static_cast<Account>(number);
    if (account == Account::Other || (*accounting)[account] < kMinShownShare * replay->step_ms()) {
      continue;
    }
    std::vector<CauseShares> shares;
    for (const StepAccounts& step : steps) {
      shares.push_back(shares_of(step.accounting, account, kinds));
    }
    // The replay shortens it on every rank, also where another account has the time of it.
    const double gained_ms = std::clamp(replay->step_ms() - replay->step_ms(shares, kWhatIfShare),
                                        0.0, (*accounting)[account]);
    what_ifs.push_back(
        {.account = account, .step_ms = replay->step_ms() - gained_ms, .gained_ms = gained_ms});
  }
  return what_ifs;
}

}  // namespace chokepoint::analysis
