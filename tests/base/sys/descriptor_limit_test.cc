#include "base/sys/descriptor_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::sys {
namespace {

using testing::HasSubstr;

TEST(DescriptorLimit, WhatIsMoreThanThereMayBeIsSaidSo) {
  EXPECT_TRUE(want_descriptors(1));
  const Result<> all = want_descriptors(SIZE_MAX / 2);
  if (all) {
    GTEST_SKIP() << "this system has no such limit";
  }
  EXPECT_EQ(all.error().kind, ErrorKind::Exhausted);
  EXPECT_THAT(all.error().next_step, HasSubstr("ulimit -Hn"));
}

}  // namespace
}  // namespace chokepoint::sys
