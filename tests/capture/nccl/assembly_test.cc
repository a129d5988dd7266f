#include "capture/nccl/assembly.h"

#include <gmock/gmock.h>

#include "tests/capture/nccl/made_entries.h"

namespace chokepoint::capture::nccl {
namespace {

using testing::ElementsAre;

class AssemblyTest : public testing::Test {
 protected:
  void take(const Entry& each, std::int64_t at_ms) { assembly_.take(each, at_ms * kMs); }
  void settle(std::int64_t at_ms) { assembly_.settle(at_ms * kMs); }
  std::vector<std::uint64_t> ids() const {
    std::vector<std::uint64_t> all;
    for (const Operation& each : seen_) all.push_back(each.id);
    return all;
  }

  std::vector<Operation> seen_;
  std::optional<Membership> member_;
  Assembly assembly_{[this](const Operation& operation, const Membership* member, const GpuClock&) {
                       seen_.push_back(operation);
                       member_ = member == nullptr ? std::nullopt : std::optional(*member);
                     },
                     {.open = 8, .communicators = 4}};
};

TEST_F(AssemblyTest, PutsPartsTogetherWhateverTheirOrder) {
  take(proxy({.sends = true, .begin_ms = 10, .end_ms = 30, .first_ms = 12}), 31);
  take(head({.channels = 1}), 32);
  take(proxy({.sends = false, .begin_ms = 11, .end_ms = 33, .first_ms = 15}), 33);
  take(joined(77, 2, 4), 34);
  settle(3'000);
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].proxies, 2);
  EXPECT_EQ(seen_[0].proxy_begin_ns, 10 * kMs);
  EXPECT_EQ(seen_[0].proxy_end_ns, 33 * kMs);
  EXPECT_EQ(seen_[0].sent_data_ns, 12 * kMs);
  EXPECT_EQ(seen_[0].received_data_ns, 15 * kMs);
  ASSERT_TRUE(member_);
  EXPECT_EQ(member_->rank, 2);
  EXPECT_EQ(assembly_.open(), 0U);
}

TEST_F(AssemblyTest, IsOverSoonerOnceALaterOneMovedData) {
  take(head({.id = 1, .enqueued_ms = 1}), 10);
  take(proxy({.id = 1, .begin_ms = 5, .end_ms = 9}), 10);
  settle(900);
  EXPECT_TRUE(seen_.empty());
  take(head({.id = 2, .enqueued_ms = 2}), 900);
  take(proxy({.id = 2, .begin_ms = 500, .end_ms = 890}), 900);
  settle(900);
  EXPECT_THAT(ids(), ElementsAre(1));
  settle(3'000);
  EXPECT_THAT(ids(), ElementsAre(1, 2));
}

TEST_F(AssemblyTest, AChannelThatHangsKeepsTheNewestOneOpen) {
  take(head({.channels = 2}), 10);
  take(proxy({.begin_ms = 5, .end_ms = 9, .channel = 0}), 10);
  settle(60'000);
  EXPECT_TRUE(seen_.empty());
  take(proxy({.begin_ms = 5, .end_ms = 60'001, .channel = 1}), 60'001);
  settle(63'000);
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_EQ(seen_[0].proxy_end_ns, 60'001 * kMs);
}

TEST_F(AssemblyTest, OneThatTellsNothingMoreIsGivenUpInTheEnd) {
  take(head({}), 10);
  settle(100'000);
  EXPECT_TRUE(seen_.empty());
  settle(121'000);
  EXPECT_THAT(ids(), ElementsAre(1));
}

TEST_F(AssemblyTest, PartsOfNothingAreCounted) {
  take(proxy({.id = 5, .begin_ms = 5, .end_ms = 9}), 10);
  settle(3'000);
  EXPECT_TRUE(seen_.empty());
  EXPECT_EQ(assembly_.orphans(), 1U);
}

TEST_F(AssemblyTest, MemoryIsBoundedAndNothingIsLostByIt) {
  for (std::uint64_t id = 1; id <= 100; ++id) {
    take(head({.id = id, .enqueued_ms = static_cast<std::int64_t>(id)}), 200);
    EXPECT_LE(assembly_.open(), 8U);
  }
  assembly_.settle(300 * kMs, true);
  EXPECT_EQ(seen_.size(), 100U);
}

TEST_F(AssemblyTest, WhereThereIsNoRoomTheNewestOnesKeepTheirPlaces) {
  for (std::uint64_t id = 1; id <= 9; ++id) {
    take(head({.id = id, .enqueued_ms = static_cast<std::int64_t>(id)}), 200);
  }
  EXPECT_THAT(ids(), ElementsAre(1, 2, 3, 4));
  take(proxy({.id = 8, .begin_ms = 5, .end_ms = 9}), 210);
  assembly_.settle(300 * kMs, true);
  EXPECT_EQ(assembly_.orphans(), 0U);
  EXPECT_EQ(seen_.at(7).proxies, 1);
}

TEST_F(AssemblyTest, CommunicatorsThatLeftMakeRoomForOthers) {
  for (std::uint64_t number = 1; number <= 40; ++number) {
    Entry one = joined(number, 0, 2);
    one.words[0] = entry(Kind::Communicator, number).words[0];
    take(one, 10);
    take(entry(Kind::Left, number), 10);
  }
  EXPECT_EQ(assembly_.members().size(), 4U);
  EXPECT_TRUE(assembly_.members().contains(40));
  EXPECT_EQ(assembly_.senseless(), 0U);
}

TEST_F(AssemblyTest, MessagesOfOneGroupAreOverEachByItself) {
  take(head({.id = 1, .function = Function::Receive, .enqueued_ms = 1, .peer = 1}), 10);
  take(head({.id = 2, .function = Function::Send, .enqueued_ms = 2, .peer = 1}), 10);
  take(proxy({.id = 2, .begin_ms = 5, .end_ms = 9}), 10);
  settle(5'000);
  EXPECT_THAT(ids(), ElementsAre(2));  // what it waits to receive may come yet
}

TEST_F(AssemblyTest, TimesOfTheFutureAndRanksThatCannotBeAreNotBelieved) {
  take(joined(1, 9, 4), 10);
  Entry late = proxy({.begin_ms = 5, .end_ms = 9});
  late.words[word::kProxyEnd] = ~std::uint64_t{0};
  take(late, 10);
  take(head({.enqueued_ms = 500'000}), 10);
  assembly_.settle(3'000 * kMs, true);
  ASSERT_EQ(seen_.size(), 1U);
  EXPECT_FALSE(member_);
  EXPECT_FALSE(seen_[0].proxy_end_ns);
  EXPECT_FALSE(seen_[0].enqueued_ns);
  EXPECT_EQ(assembly_.senseless(), 1U);
}

TEST(GpuClock, KnowsNothingBeforeAnythingWasSeen) { EXPECT_FALSE(GpuClock().host_ns(5)); }

TEST(GpuClock, TakesTheLeastDelayForNone) {
  GpuClock clock;
  for (const std::int64_t delay : {900, 40, 300}) {
    clock.learn(7'000, 1'007'000 + delay);
  }
  EXPECT_EQ(clock.host_ns(8'000), 1'008'040);
}

TEST(GpuClock, FollowsAClockOfAnotherRate) {
  GpuClock clock;
  constexpr double kFast = 1.0001;
  for (std::int64_t at = 0; at < 100 * kSecond; at += kSecond / 10) {
    const auto gpu = static_cast<std::int64_t>(static_cast<double>(at) * kFast);
    clock.learn(gpu, at + 20'000);
    EXPECT_NEAR(static_cast<double>(*clock.host_ns(gpu)), static_cast<double>(at), 1'100'000);
  }
}

TEST(GpuClock, ForgetsWhatItSawBeforeALongPause) {
  GpuClock clock;
  clock.learn(1'000, 1'010);
  clock.learn(100 * kSecond, 100 * kSecond + 5'000'000);
  EXPECT_EQ(clock.host_ns(100 * kSecond), 100 * kSecond + 5'000'000);
}

}  // namespace
}  // namespace chokepoint::capture::nccl
