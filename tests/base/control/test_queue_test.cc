#include "base/control/test_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::control {
namespace {

using testing::HasSubstr;
using Turn = TestQueue::Turn;

TestQueue::Test heavy(std::string who, bool share = false) {
  return {.demand = Weight::Heavy, .share = share, .who = std::move(who)};
}
TestQueue::Test light() { return {.demand = Weight::Light, .who = "path by 10.0.0.9"}; }

TEST(TestQueue, HeavyTestsQueueInTheOrderOfArrival) {
  TestQueue test_queue(false);
  std::optional<Turn> first;
  first.emplace(test_queue, heavy("tcp by 10.0.0.2"));
  std::optional<Turn> second;
  second.emplace(test_queue, heavy("tcp by 10.0.0.3"));
  Turn third(test_queue, heavy("udp by 10.0.0.4"));
  EXPECT_TRUE(first->take());
  EXPECT_THAT(second->take().error().reason, HasSubstr("running: tcp by 10.0.0.2"));
  first.reset();
  EXPECT_THAT(third.take().error().reason, HasSubstr("ahead: tcp by 10.0.0.3"));
  EXPECT_TRUE(second->take());
  second.reset();
  EXPECT_TRUE(third.take());
}

TEST(TestQueue, ALightTestPasses) {
  TestQueue test_queue(false);
  Turn running(test_queue, heavy("tcp"));
  ASSERT_TRUE(running.take());
  Turn passing(test_queue, light());
  EXPECT_TRUE(passing.take());
}

TEST(TestQueue, WhoSharesRunsBesideWhoShares) {
  TestQueue test_queue(false);
  Turn one(test_queue, heavy("one", true));
  Turn two(test_queue, heavy("two", true));
  Turn alone(test_queue, heavy("alone"));
  Turn late(test_queue, heavy("late", true));
  EXPECT_TRUE(one.take());
  EXPECT_TRUE(two.take());
  EXPECT_FALSE(alone.take());
  EXPECT_FALSE(late.take()) << "else a test that does not share would wait for ever";
}

TEST(TestQueue, WhoWantsThePathAloneSharesItWithNobody) {
  TestQueue test_queue(false);
  Turn sharing(test_queue, heavy("one", true));
  ASSERT_TRUE(sharing.take());
  Turn alone(test_queue, {.demand = Weight::Alone, .share = true, .who = "rdma"});
  EXPECT_FALSE(alone.take());
}

TEST(TestQueue, ATestThatSaysLateWhatItTakesGetsWhatIsLeft) {
  TestQueue test_queue(false, {.threads = 10, .bytes = 1000});
  std::optional<Turn> first;
  first.emplace(test_queue, heavy("one", true));
  Turn second(test_queue, heavy("two", true));
  ASSERT_TRUE(first->take() && second.take());
  EXPECT_FALSE(first->grow(11, 0));
  EXPECT_TRUE(first->grow(6, 600));
  EXPECT_EQ(second.grow(5, 0).error().kind, ErrorKind::Exhausted);
  EXPECT_EQ(second.grow(0, 500).error().kind, ErrorKind::Exhausted);
  EXPECT_TRUE(second.grow(4, 400));
  first.reset();
  EXPECT_TRUE(second.grow(10, 1000));
}

TEST(TestQueue, TestsTogetherTakeNoMoreThanTheServerHas) {
  TestQueue test_queue(false, {.threads = 10, .bytes = 1000});
  const auto test = [](std::int64_t threads, std::int64_t bytes) {
    return TestQueue::Test{.demand = {Weight::Heavy, threads, bytes}, .share = true};
  };
  EXPECT_TRUE(test_queue.check(test(10, 1000).demand));
  EXPECT_EQ(test_queue.check(test(11, 0).demand).error().kind, ErrorKind::Exhausted);
  EXPECT_EQ(test_queue.check(test(1, 1001).demand).error().kind, ErrorKind::Exhausted);
  std::optional<Turn> first;
  first.emplace(test_queue, test(6, 600));
  Turn second(test_queue, test(5, 0));
  Turn third(test_queue, test(0, 500));
  Turn small(test_queue, test(4, 500));
  ASSERT_TRUE(first->take());
  EXPECT_EQ(second.take().error().kind, ErrorKind::Exhausted);
  EXPECT_EQ(third.take().error().kind, ErrorKind::Exhausted);
  EXPECT_FALSE(small.take()) << "it would pass those that came before it";
  Turn tiny(test_queue, {.demand = Weight::Light});
  EXPECT_TRUE(tiny.take());
  first.reset();
  EXPECT_TRUE(second.take());
  EXPECT_TRUE(third.take());
}

TEST(TestQueue, ExclusiveLetsAClientsOwnTestsRunTogether) {
  TestQueue test_queue(true);
  Turn running(test_queue, {.who = "path", .owner = "voyager"});
  ASSERT_TRUE(running.take());
  Turn same(test_queue, {.who = "path", .owner = "voyager"});
  EXPECT_TRUE(same.take());
  Turn other(test_queue, {.who = "path", .owner = "hubble"});
  EXPECT_FALSE(other.take());
}

TEST(TestQueue, ExclusiveMeansNobodyElse) {
  TestQueue test_queue(true);
  Turn running(test_queue, {.who = "path", .owner = "voyager"});
  ASSERT_TRUE(running.take());
  Turn other(test_queue, {.who = "path", .owner = "hubble"});
  EXPECT_EQ(other.take().error().kind, ErrorKind::Busy);
}

}  // namespace
}  // namespace chokepoint::control
