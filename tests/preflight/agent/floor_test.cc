#include "preflight/agent/floor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace chokepoint::preflight {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(CoordinatorLock, OneAtATimeAndTheOtherIsToldWhoseItIs) {
  CoordinatorLock floor;
  {
    const Result<CoordinatorLock::Place> first =
        floor.take({.who = "login1 (10.0.0.1)"}, milliseconds(0));
    ASSERT_TRUE(first);
    const Result<CoordinatorLock::Place> second = floor.take({.who = "login2"}, milliseconds(0));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::Busy);
    EXPECT_THAT(describe(second.error()), HasSubstr("login1 (10.0.0.1)"));
  }
  EXPECT_TRUE(floor.take({.who = "login2"}, milliseconds(0)));
}

TEST(CoordinatorLock, AHostOfTwoNamesIsToldToBeOne) {
  CoordinatorLock floor;
  const Result<CoordinatorLock::Place> first =
      floor.take({.who = "login1", .preflight = "a", .called = "10.0.0.7"}, milliseconds(0));
  // At once, whatever the patience.
  const Result<CoordinatorLock::Place> again =
      floor.take({.who = "login1", .preflight = "a"}, std::chrono::hours(1));
  ASSERT_FALSE(again);
  EXPECT_THAT(describe(again.error()), HasSubstr("takes part already, as 10.0.0.7"));
  // Those who do not say what they belong to belong to nothing.
  CoordinatorLock other;
  const Result<CoordinatorLock::Place> unnamed = other.take({.who = "login1"}, milliseconds(0));
  EXPECT_THAT(describe(other.take({.who = "login1"}, milliseconds(0)).error()),
              HasSubstr("the preflight of login1 is on"));
}

TEST(CoordinatorLock, WhoComesWhileTheOtherLeavesIsLetIn) {
  CoordinatorLock floor;
  std::optional<CoordinatorLock::Place> first(
      std::move(floor.take({.who = "login1"}, milliseconds(0)).value()));
  std::thread leaving([&] {
    std::this_thread::sleep_for(milliseconds(20));
    first.reset();
  });
  EXPECT_TRUE(floor.take({.who = "login2"}, std::chrono::seconds(60)));
  leaving.join();
}

}  // namespace
}  // namespace chokepoint::preflight
