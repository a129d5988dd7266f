#include <gmock/gmock.h>

#include "tests/rdma/perf/pair.h"

namespace chokepoint::rdma::perf {
namespace {

using fakes::Outcomes;
using fakes::Pair;
using verbs::Operation;
using verbs::Transport;

Plan small_plan(Operation operation = Operation::Write) {
  return {.operation = operation, .message_bytes = 64, .depth = 16, .iterations = 100};
}

class EveryOperation : public testing::TestWithParam<Operation> {};

INSTANTIATE_TEST_SUITE_P(Bandwidth, EveryOperation,
                         testing::Values(Operation::Write, Operation::WriteImmediate,
                                         Operation::Read, Operation::Send, Operation::FetchAndAdd,
                                         Operation::CompareAndSwap));

TEST_P(EveryOperation, CountsWhatItSent) {
  Pair pair(small_plan(GetParam()));
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
  ASSERT_TRUE(outcomes.passive) << describe(outcomes.passive.error());
  const std::uint64_t bytes =
      GetParam() == Operation::FetchAndAdd || GetParam() == Operation::CompareAndSwap ? 8 : 64;
  EXPECT_EQ(outcomes.active->messages, 100U);
  EXPECT_EQ(outcomes.active->bytes, 100 * bytes);
  EXPECT_GT(outcomes.active->duration_ns, 0);
  EXPECT_NEAR(*outcomes.active->average_mbps,
              static_cast<double>(outcomes.active->bytes) * 8e3 /
                  static_cast<double>(outcomes.active->duration_ns),
              1e-3);
  EXPECT_GE(*outcomes.active->peak_mbps, *outcomes.active->average_mbps);
  EXPECT_EQ(pair.fabric.traffic("fake0").delivered, 100U);
}

TEST_P(EveryOperation, FindsNothingWrongWhereNothingIs) {
  Plan plan = small_plan(GetParam());
  plan.check = true;
  plan.queue_pairs = 3;
  plan.moderation = 7;
  plan.warm_up = 5;
  plan.message_bytes = 1000;
  Pair pair(plan);
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
  ASSERT_TRUE(outcomes.passive) << describe(outcomes.passive.error());
  EXPECT_EQ(outcomes.active->mismatches.value_or(0), 0U);
  EXPECT_EQ(outcomes.passive->mismatches.value_or(0), 0U);
  EXPECT_EQ(outcomes.mismatches, 0U);
}

TEST_P(EveryOperation, EndsByTime) {
  Plan plan = small_plan(GetParam());
  plan.iterations = {};
  plan.time = std::chrono::milliseconds(20);
  plan.queue_pairs = 2;
  Pair pair(plan);
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
  ASSERT_TRUE(outcomes.passive) << describe(outcomes.passive.error());
  EXPECT_GT(outcomes.active->messages, 0U);
  EXPECT_EQ(outcomes.active->messages, pair.fabric.traffic("fake0").delivered);
  EXPECT_EQ(outcomes.active->messages % 2, 0U);
  if (GetParam() == Operation::Send || GetParam() == Operation::WriteImmediate) {
    EXPECT_EQ(outcomes.passive->messages, outcomes.active->messages);
  }
}

TEST_P(EveryOperation, SleepsForCompletions) {
  Plan plan = small_plan(GetParam());
  plan.events = true;
  Pair pair(plan);
  pair.active_faults.delay = std::chrono::microseconds(500);
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
  ASSERT_TRUE(outcomes.passive) << describe(outcomes.passive.error());
  EXPECT_EQ(outcomes.active->messages, 100U);
}

struct Odd {
  int depth;
  int post_list;
  int moderation;
  int queue_pairs;
  std::uint64_t iterations;
  std::uint64_t warm_up;
};

std::ostream& operator<<(std::ostream& out, const Odd& odd) {
  return out << "depth " << odd.depth << " list " << odd.post_list << " moderation "
             << odd.moderation << " queues " << odd.queue_pairs << " iterations " << odd.iterations
             << " warm-up " << odd.warm_up;
}

class OddPlans : public testing::TestWithParam<Odd> {};

INSTANTIATE_TEST_SUITE_P(Bandwidth, OddPlans,
                         testing::Values(Odd{1, 1, 1, 1, 10, 0}, Odd{1, 8, 100, 2, 10, 3},
                                         Odd{16, 5, 1, 3, 101, 0}, Odd{16, 16, 16, 1, 17, 1},
                                         Odd{16, 7, 10, 8, 50, 13}, Odd{128, 1, 100, 4, 99, 0},
                                         Odd{128, 1, 100, 1, 1, 0}, Odd{3, 2, 2, 5, 7, 7},
                                         Odd{17, 4, 1000, 7, 333, 1}, Odd{2, 1, 1, 6, 1, 1}));

TEST_P(OddPlans, SendEachMessageOnceAndNeverTooMany) {
  const Odd odd = GetParam();
  for (const Operation operation : {Operation::Write, Operation::Send}) {
    Plan plan = small_plan(operation);
    plan.depth = odd.depth;
    plan.post_list = odd.post_list;
    plan.moderation = odd.moderation;
    plan.queue_pairs = odd.queue_pairs;
    plan.iterations = odd.iterations;
    plan.warm_up = odd.warm_up;
    plan.receive_depth = odd.depth;
    Pair pair(plan);
    const Outcomes outcomes = pair.run();
    ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
    ASSERT_TRUE(outcomes.passive) << describe(outcomes.passive.error());
    const auto queues = static_cast<std::uint64_t>(odd.queue_pairs);
    const auto traffic = pair.fabric.traffic("fake0");
    EXPECT_EQ(outcomes.active->messages, odd.iterations * queues);
    EXPECT_EQ(traffic.delivered, (odd.iterations + odd.warm_up) * queues);
    EXPECT_LE(traffic.largest_outstanding, static_cast<std::uint64_t>(odd.depth));
    if (operation == Operation::Send) {
      EXPECT_EQ(outcomes.passive->messages, odd.iterations * queues);
    }
  }
}

TEST(Bandwidth, FillsTheDepthWhileNothingCompletes) {
  Plan plan = small_plan();
  plan.depth = 24;
  Pair pair(plan);
  pair.active_faults.delay = std::chrono::milliseconds(5);
  ASSERT_TRUE(pair.run().active);
  EXPECT_EQ(pair.fabric.traffic("fake0").largest_outstanding, 24U);
}

TEST(Bandwidth, OnlyEveryModeratedRequestCompletesAloud) {
  Plan plan = small_plan();
  plan.moderation = 8;
  Pair pair(plan);
  ASSERT_TRUE(pair.run().active);
  EXPECT_EQ(pair.fabric.traffic("fake0").completions, 13U);  // 12 × 8, and the last 4
}

TEST(Bandwidth, PostsListsAtOnce) {
  Plan plan = small_plan();
  plan.post_list = 8;
  Pair pair(plan);
  ASSERT_TRUE(pair.run().active);
  EXPECT_EQ(pair.fabric.traffic("fake0").posts, 13U);
}

TEST(Bandwidth, WarmUpIsNotMeasured) {
  Plan plan = small_plan(Operation::Send);
  plan.warm_up = 50;
  Pair pair(plan);
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active && outcomes.passive);
  EXPECT_EQ(outcomes.active->messages, 100U);
  EXPECT_EQ(outcomes.passive->messages, 100U);
  EXPECT_EQ(pair.fabric.traffic("fake0").delivered, 150U);
}

TEST(Bandwidth, ALimitedRateHoldsMessagesBack) {
  Plan plan = small_plan();
  plan.iterations = {};
  plan.time = std::chrono::milliseconds(100);
  plan.rate_bits_per_s = 64 * 8 * 1000.0;  // 1000 messages a second
  Pair pair(plan);
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active);
  const double seconds = static_cast<double>(outcomes.active->duration_ns) / 1e9;
  EXPECT_LE(static_cast<double>(outcomes.active->messages), 1000 * seconds + 50 + 2);
  EXPECT_GT(outcomes.active->messages, 1U);
}

TEST(Bandwidth, ALowRateHoldsBackTheFirstAndTheLastMessagesToo) {
  Plan plan = small_plan();
  plan.depth = 128;
  plan.moderation = 100;
  plan.queue_pairs = 2;
  plan.iterations = {};
  plan.time = std::chrono::milliseconds(50);
  plan.rate_bits_per_s = 64 * 8 * 40.0;  // 40 messages a second
  Pair pair(plan);
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active);
  const double seconds = static_cast<double>(outcomes.active->duration_ns) / 1e9;
  EXPECT_LE(static_cast<double>(outcomes.active->messages), 40 * seconds + 2 + 4);
}

TEST(Bandwidth, EndsWhenToldAndKeepsWhatWasMeasured) {
  Plan plan = small_plan();
  plan.iterations = {};
  plan.time = std::chrono::hours(1);
  Pair pair(plan);
  pair.active->monitor.ends_after = 3;
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active);
  EXPECT_GT(outcomes.active->messages, 0U);
  EXPECT_TRUE(outcomes.active->average_mbps);
}

TEST(Bandwidth, AnErrorOfAttentionIsTheTests) {
  Plan plan = small_plan();
  plan.iterations = {};
  plan.time = std::chrono::hours(1);
  Pair pair(plan);
  pair.active->monitor.fails = true;
  const Outcomes outcomes = pair.run();
  ASSERT_FALSE(outcomes.active);
  EXPECT_EQ(outcomes.active.error().kind, ErrorKind::Interrupted);
}

TEST(Bandwidth, AFailedCompletionIsExplained) {
  Pair pair(small_plan());
  pair.active_faults.failing_message = 42;
  pair.active_faults.failing_status = fakes::kRemoteAccessError;
  const Outcomes outcomes = pair.run();
  ASSERT_FALSE(outcomes.active);
  const auto expected = verbs::explain({.status = fakes::kRemoteAccessError}, "peer");
  EXPECT_EQ(describe(outcomes.active.error()), describe(expected));
}

TEST(Bandwidth, APeerThatIsGoneEndsIt) {
  Pair pair(small_plan());
  pair.active_faults.unplugged = true;
  const Outcomes outcomes = pair.run();
  ASSERT_FALSE(outcomes.active);
  EXPECT_EQ(describe(outcomes.active.error()),
            describe(verbs::explain({.status = fakes::kRetriesExceeded}, "peer")));
}

TEST(Bandwidth, APostThatFailsIsAnError) {
  Pair pair(small_plan());
  pair.active_faults.post = EIO;
  const Outcomes outcomes = pair.run();
  ASSERT_FALSE(outcomes.active);
  EXPECT_EQ(outcomes.active.error().code, EIO);
}

TEST(Bandwidth, AReceiverThatNeverComesDoesNotHoldTheEndUp) {
  Plan plan = small_plan(Operation::Send);
  plan.receive_depth = 4;
  Pair pair(plan);
  pair.passive->monitor.fails = true;  // it ends at once, and its queue pair stays
  pair.active->monitor.ends_after = 2;
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
  EXPECT_LT(outcomes.active->messages, 100U);
}

TEST(Bandwidth, WhatWasLostIsNotReceived) {
  for (const Transport transport : {Transport::Uc, Transport::Ud}) {
    Plan plan = small_plan(Operation::Send);
    plan.transport = transport;
    plan.check = true;
    Pair pair(plan);
    pair.active_faults.lose_every = 10;
    const Outcomes outcomes = pair.run();
    ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
    ASSERT_TRUE(outcomes.passive) << describe(outcomes.passive.error());
    const auto traffic = pair.fabric.traffic("fake0");
    EXPECT_EQ(outcomes.active->messages, 100U);
    EXPECT_EQ(outcomes.passive->messages, 100U - traffic.lost);
    EXPECT_GE(traffic.lost, 10U);
    EXPECT_EQ(outcomes.passive->mismatches, 0U);
  }
}

}  // namespace
}  // namespace chokepoint::rdma::perf
