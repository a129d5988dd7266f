// What a step's time goes to, as documents show it: ms a step by account, null where nobody knows.
#pragma once

#include <optional>

#include "analysis/attribution/diagnosis.h"
#include "base/cli/output.h"

namespace chokepoint::analysis {

inline cli::Json accounts_document(const std::optional<Accounting>& accounting) {
  if (!accounting) {
    return {};
  }
  cli::Json accounts = cli::Json::object();
  for (std::size_t index = 0; index < kAccounts; ++index) {
    accounts[name_of(static_cast<Account>(index))] = accounting->ms[index];
  }
  return accounts;
}

}  // namespace chokepoint::analysis
