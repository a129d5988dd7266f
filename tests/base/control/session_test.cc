#include "base/control/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::control {
namespace {

using testing::HasSubstr;
using Turn = Turnstile::Turn;

Turnstile::Test heavy(std::string who, bool share = false) {
  return {.demand = Weight::Heavy, .share = share, .who = std::move(who)};
}
Turnstile::Test light() { return {.demand = Weight::Light, .who = "path by 10.0.0.9"}; }

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

TEST(Turnstile, WhoWantsThePathAloneSharesItWithNobody) {
  Turnstile turnstile(false);
  Turn sharing(turnstile, heavy("one", true));
  ASSERT_TRUE(sharing.take());
  Turn alone(turnstile, {.demand = Weight::Alone, .share = true, .who = "rdma"});
  EXPECT_FALSE(alone.take());
}

TEST(Turnstile, ATestThatSaysLateWhatItTakesGetsWhatIsLeft) {
  Turnstile turnstile(false, {.threads = 10, .bytes = 1000});
  std::optional<Turn> first;
  first.emplace(turnstile, heavy("one", true));
  Turn second(turnstile, heavy("two", true));
  ASSERT_TRUE(first->take() && second.take());
  EXPECT_FALSE(first->grow(11, 0));
  EXPECT_TRUE(first->grow(6, 600));
  EXPECT_EQ(second.grow(5, 0).error().kind, ErrorKind::Exhausted);
  EXPECT_EQ(second.grow(0, 500).error().kind, ErrorKind::Exhausted);
  EXPECT_TRUE(second.grow(4, 400));
  first.reset();
  EXPECT_TRUE(second.grow(10, 1000));
}

TEST(Turnstile, TestsTogetherTakeNoMoreThanTheServerHas) {
  Turnstile turnstile(false, {.threads = 10, .bytes = 1000});
  const auto test = [](std::int64_t threads, std::int64_t bytes) {
    return Turnstile::Test{.demand = {Weight::Heavy, threads, bytes}, .share = true};
  };
  EXPECT_TRUE(turnstile.check(test(10, 1000).demand));
  EXPECT_EQ(turnstile.check(test(11, 0).demand).error().kind, ErrorKind::Exhausted);
  EXPECT_EQ(turnstile.check(test(1, 1001).demand).error().kind, ErrorKind::Exhausted);
  std::optional<Turn> first;
  first.emplace(turnstile, test(6, 600));
  Turn second(turnstile, test(5, 0));
  Turn third(turnstile, test(0, 500));
  Turn small(turnstile, test(4, 500));
  ASSERT_TRUE(first->take());
  EXPECT_EQ(second.take().error().kind, ErrorKind::Exhausted);
  EXPECT_EQ(third.take().error().kind, ErrorKind::Exhausted);
  EXPECT_FALSE(small.take()) << "it would pass those that came before it";
  Turn tiny(turnstile, {.demand = Weight::Light});
  EXPECT_TRUE(tiny.take());
  first.reset();
  EXPECT_TRUE(second.take());
  EXPECT_TRUE(third.take());
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
