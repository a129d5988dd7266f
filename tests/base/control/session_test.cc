#include "base/control/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::control {
namespace {

using testing::HasSubstr;
using Turn = Turnstile::Turn;

Turnstile::Test heavy(std::string who, bool share = false) {
  return {.weight = Weight::Heavy, .share = share, .who = std::move(who)};
}
Turnstile::Test light() { return {.weight = Weight::Light, .who = "path by 10.0.0.9"}; }

TEST(Turnstile, HeavyTestsQueueInTheOrderOfArrival) {
  Turnstile turnstile(false);
  std::optional<Turn> first;
  first.emplace(turnstile, heavy("tcp by 10.0.0.2"));
  std::optional<Turn> second;
  second.emplace(turnstile, heavy("tcp by 10.0.0.3"));
  Turn third(turnstile, heavy("udp by 10.0.0.4"));
  EXPECT_TRUE(first->take());
  EXPECT_THAT(second->take().error().reason, HasSubstr("running: tcp by 10.0.0.2"));
  first.reset();
  EXPECT_THAT(third.take().error().reason, HasSubstr("ahead: tcp by 10.0.0.3"));
  EXPECT_TRUE(second->take());
  second.reset();
  EXPECT_TRUE(third.take());
}

TEST(Turnstile, ALightTestPasses) {
  Turnstile turnstile(false);
  Turn running(turnstile, heavy("tcp"));
  ASSERT_TRUE(running.take());
  Turn passing(turnstile, light());
  EXPECT_TRUE(passing.take());
}

TEST(Turnstile, WhoSharesRunsBesideWhoShares) {
  Turnstile turnstile(false);
  Turn one(turnstile, heavy("one", true));
  Turn two(turnstile, heavy("two", true));
  Turn alone(turnstile, heavy("alone"));
  Turn late(turnstile, heavy("late", true));
  EXPECT_TRUE(one.take());
  EXPECT_TRUE(two.take());
  EXPECT_FALSE(alone.take());
  EXPECT_FALSE(late.take()) << "else a test that does not share would wait for ever";
}

TEST(Turnstile, ExclusiveLetsAClientsOwnTestsRunTogether) {
  Turnstile turnstile(true);
  Turn running(turnstile, {.who = "path", .owner = "voyager"});
  ASSERT_TRUE(running.take());
  Turn same(turnstile, {.who = "path", .owner = "voyager"});
  EXPECT_TRUE(same.take());
  Turn other(turnstile, {.who = "path", .owner = "hubble"});
  EXPECT_FALSE(other.take());
}

TEST(Turnstile, ExclusiveMeansNobodyElse) {
  Turnstile turnstile(true);
  Turn running(turnstile, {.who = "path", .owner = "voyager"});
  ASSERT_TRUE(running.take());
  Turn other(turnstile, {.who = "path", .owner = "hubble"});
  EXPECT_EQ(other.take().error().kind, ErrorKind::Busy);
}

}  // namespace
}  // namespace chokepoint::control
