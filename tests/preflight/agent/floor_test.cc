#include "preflight/agent/floor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace chokepoint::preflight {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

TEST(Floor, OneAtATimeAndTheOtherIsToldWhoseItIs) {
  Floor floor;
  {
    const Result<Floor::Place> first = floor.take("login1 (10.0.0.1)", milliseconds(0));
    ASSERT_TRUE(first);
    const Result<Floor::Place> second = floor.take("login2", milliseconds(0));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::Busy);
    EXPECT_THAT(describe(second.error()), HasSubstr("login1 (10.0.0.1)"));
  }
  EXPECT_TRUE(floor.take("login2", milliseconds(0)));
}

TEST(Floor, WhoComesWhileTheOtherLeavesIsLetIn) {
  Floor floor;
  std::optional<Floor::Place> first(std::move(floor.take("login1", milliseconds(0)).value()));
  std::thread leaving([&] {
    std::this_thread::sleep_for(milliseconds(20));
    first.reset();
  });
  EXPECT_TRUE(floor.take("login2", std::chrono::seconds(60)));
  leaving.join();
}

}  // namespace
}  // namespace chokepoint::preflight
