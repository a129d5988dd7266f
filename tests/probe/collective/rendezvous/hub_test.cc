#include "probe/collective/rendezvous/hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <future>

namespace chokepoint::probe::collective {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

JoiningRank rank_of(int rank, int ranks = 3) {
  return {.job = "j", .rank = rank, .ranks = ranks, .host = "hubble", .program = "chokepoint 1"};
}

Hub::Clock::time_point in(std::chrono::nanoseconds wait) { return Hub::Clock::now() + wait; }

bool rings(const Hub& hub) {
  pollfd watched{hub.alarm(), POLLIN, 0};
  return ::poll(&watched, 1, 0) > 0;
}

Error error_of(const std::string& reason) {
  return {.kind = ErrorKind::Io, .operation = "all-reduce", .subject = "eth0", .reason = reason};
}

TEST(Hub, NamesWhoDidNotCome) {
  Hub hub("j", 8);
  for (const int rank : {0, 1, 3, 4, 6, 7}) {
    ASSERT_TRUE(hub.enter(rank_of(rank, 8)));
  }
  const Result<> all = hub.await_all(in(milliseconds(10)), {});
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().kind, ErrorKind::Timeout);
  EXPECT_THAT(describe(all.error()), HasSubstr("ranks 2 and 5 of 8: did not come within 0 s"));
}

TEST(Hub, ListsOfRanksAreShort) {
  EXPECT_EQ(list_of({4}), "rank 4");
  EXPECT_EQ(list_of({1, 2, 3}), "ranks 1, 2 and 3");
  std::vector<int> many(64);
  EXPECT_THAT(list_of(many), HasSubstr(" and 56 more"));
}

TEST(Hub, TakesEachRankOnceAndOnlyOfItsJob) {
  Hub hub("j", 3);
  EXPECT_TRUE(hub.enter(rank_of(1)));
  EXPECT_EQ(hub.enter(rank_of(1)).error().kind, ErrorKind::Busy);
  EXPECT_EQ(hub.enter(rank_of(0, 4)).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(hub.enter(rank_of(3)).error().kind, ErrorKind::Usage);
  JoiningRank other = rank_of(2);
  other.job = "k";
  EXPECT_EQ(hub.enter(other).error().kind, ErrorKind::NotFound);
  other = rank_of(2);
  other.program = "chokepoint 2";
  EXPECT_THAT(describe(hub.enter(other).error()), HasSubstr("same version"));
  EXPECT_EQ(hub.members(), std::vector{rank_of(1)});
}

TEST(Hub, WhereAllHaveComeAnotherJobMeets) {
  Hub hub("j", 2);
  EXPECT_TRUE(hub.enter(rank_of(0, 2)));
  EXPECT_TRUE(hub.enter(rank_of(1, 2)));
  EXPECT_EQ(hub.enter(rank_of(1, 2)).error().kind, ErrorKind::NotFound);
}

TEST(Hub, AValueWaitsForWhoWantsIt) {
  Hub hub("j", 1);
  auto waiting = std::async(std::launch::async, [&] { return hub.get("a", in(seconds(20)), {}); });
  ASSERT_TRUE(hub.set("a", std::string("1\0\xff", 3)));
  EXPECT_EQ(waiting.get().value(), std::string("1\0\xff", 3));
  EXPECT_TRUE(hub.take("a", in(seconds(1)), {}));
  const auto gone = hub.get("a", in(milliseconds(1)), {});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().kind, ErrorKind::Timeout);
  EXPECT_EQ(gone.error().subject, "a");
}

TEST(Hub, AFailureWakesEverybody) {
  Hub hub("j", 3);
  ASSERT_TRUE(hub.enter(rank_of(2)));
  auto waiting = std::async(std::launch::async, [&] { return hub.get("a", in(seconds(20)), {}); });
  EXPECT_FALSE(rings(hub));
  hub.fail({.rank = 2, .error = error_of("broken pipe")});
  EXPECT_TRUE(rings(hub));
  EXPECT_EQ(describe(waiting.get().error()), "rank 2 on hubble: all-reduce: eth0: broken pipe");
  EXPECT_FALSE(hub.await_all(in(seconds(20)), {}));
}

TEST(Hub, WhoIsGoneIsTheCauseOfWhatOthersSay) {
  Hub hub("j", 3);
  hub.fail({.rank = 0, .error = error_of("connection reset")});
  hub.leave(1, false);
  EXPECT_THAT(describe(*hub.failure()), HasSubstr("rank 1: ended without a word"));
  hub.fail(
      {.rank = 1, .error = error_of("ended by signal 9"), .source = FailureSource::ProcessEnded});
  EXPECT_THAT(describe(*hub.failure()), HasSubstr("signal 9"));
}

TEST(Hub, WhoSaidWhyItGoesIsNotMissed) {
  Hub hub("j", 3);
  hub.fail({.rank = 1, .error = error_of("no such interface")});
  hub.leave(1, false);
  EXPECT_THAT(describe(*hub.failure()), HasSubstr("no such interface"));
}

TEST(Hub, OnceAllIsDoneRanksMayGo) {
  Hub hub("j", 2);
  hub.leave(0, true);
  hub.leave(1, true);
  EXPECT_TRUE(hub.await_gone(in(seconds(20)), {}));
  hub.finish();
  hub.leave(0, false);
  EXPECT_EQ(hub.failure(), std::nullopt);
  EXPECT_EQ(hub.get("a", in(seconds(20)), {}).error().kind, ErrorKind::Interrupted);
}

TEST(Hub, AWaitEndsWithWhoItIsFor) {
  Hub hub("j", 1);
  const auto ended = hub.get("a", in(seconds(20)), [] {
    return fail(ErrorKind::Refused, "wait", "peer", "it closed the connection");
  });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().kind, ErrorKind::Refused);
}

TEST(Hub, HoldsNoMoreThanItSays) {
  Hub hub("j", 1);
  EXPECT_FALSE(hub.set(std::string(Hub::kMaxKeyLength + 1, 'k'), "v"));
  EXPECT_FALSE(hub.set("k", std::string(Hub::kMaxValueLength + 1, 'v')));
  const std::string large(Hub::kMaxValueLength, 'v');
  int kept = 0;
  while (hub.set(std::to_string(kept), large)) {
    ASSERT_LT(++kept, 1000);
  }
  EXPECT_TRUE(hub.take("0", in(seconds(1)), {}));
  EXPECT_TRUE(hub.set("again", large)) << "what was taken is free again";
  EXPECT_TRUE(hub.set("again", large)) << "in its own place";
}

}  // namespace
}  // namespace chokepoint::probe::collective
