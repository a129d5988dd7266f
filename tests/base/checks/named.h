#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "base/checks/check.h"

namespace chokepoint::checks {

// Fails the test and returns an empty check where there is none.
inline Check named(const Checks& checks, std::string_view id) {
  const auto found = std::ranges::find(checks, id, &Check::id);
  EXPECT_NE(found, checks.end()) << id;
  return found == checks.end() ? Check() : *found;
}

}  // namespace chokepoint::checks
