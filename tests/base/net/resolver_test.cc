#include "base/net/resolver.h"

#include <gtest/gtest.h>

#include <chrono>

namespace chokepoint::net {
namespace {

using namespace std::chrono_literals;

TEST(Resolve, AnAddressIsItself) {
  EXPECT_EQ(resolve("127.0.0.1", std::nullopt), std::vector{*Address::parse("127.0.0.1")});
  EXPECT_EQ(resolve("::1", Family::Ipv6), std::vector{*Address::parse("::1")});
}

TEST(Resolve, ANameThatIsNoneSaysWhatToDo) {
  const auto nothing = resolve("no such name", std::nullopt);
  ASSERT_FALSE(nothing);
  EXPECT_FALSE(nothing.error().next_step.empty());
}

TEST(Resolve, IsNotWaitedForLongerThanThePatience) {
  EXPECT_EQ(resolve_within("127.0.0.1", std::nullopt, Deadline::of(10s)),
            std::vector{*Address::parse("127.0.0.1")});
  const auto late = resolve_within("127.0.0.1", std::nullopt, Deadline::of(-1s));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::Timeout);
}

}  // namespace
}  // namespace chokepoint::net
