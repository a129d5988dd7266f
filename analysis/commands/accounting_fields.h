// Where a step's time went, as documents have it: milliseconds a step by account.
#pragma once

#include <tuple>

#include "analysis/attribution/diagnosis.h"
#include "base/json/fields.h"

namespace chokepoint {

template <>
struct Fields<analysis::Accounting> {
  using A = analysis::Accounting;
  static constexpr FieldList kList{
#define ACCOUNT(enumerator, name, words, text) \
  computed<A>(                                 \
      name, [](const A& accounting) { return accounting[analysis::Account::enumerator]; }, text),
#include "analysis/attribution/causes.def"
  };
};

}  // namespace chokepoint
