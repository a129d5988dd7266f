// Both sides send at once, over bandwidth.cc and test.cc.
#include <gmock/gmock.h>

#include "tests/rdma/perf/pair.h"

namespace chokepoint::rdma::perf {
namespace {

using fakes::Outcomes;
using fakes::Pair;
using verbs::Operation;

Plan both_plan(Operation operation = Operation::Send) {
  return {.operation = operation,
          .message_bytes = 64,
          .depth = 16,
          .both_ways = true,
          .iterations = 100};
}

TEST(BothWays, EachSideSendsAndReceives) {
  for (const Operation operation : {Operation::Write, Operation::Send}) {
    Plan plan = both_plan(operation);
    plan.check = true;
    plan.queue_pairs = 2;
    Pair pair(plan);
    const Outcomes outcomes = pair.run();
    ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
    ASSERT_TRUE(outcomes.passive) << describe(outcomes.passive.error());
    EXPECT_EQ(outcomes.active->messages, 200U);
    EXPECT_EQ(outcomes.passive->messages, 200U);
    EXPECT_EQ(outcomes.active->mismatches.value_or(0), 0U);
    EXPECT_EQ(outcomes.mismatches, 0U);
    if (operation == Operation::Send) {
      EXPECT_EQ(outcomes.active->received, 200U);
      EXPECT_EQ(outcomes.passive->received, 200U);
    }
  }
}

TEST(BothWays, ByTimeEndsWhenNothingComesAnyMore) {
  Plan plan = both_plan();
  plan.iterations = {};
  plan.time = std::chrono::milliseconds(20);
  Pair pair(plan);
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
  ASSERT_TRUE(outcomes.passive) << describe(outcomes.passive.error());
  EXPECT_EQ(outcomes.active->received, outcomes.passive->messages);
  EXPECT_EQ(outcomes.passive->received, outcomes.active->messages);
}

TEST(BothWays, APauseOfTheOtherSideIsWaitedFor) {
  Plan plan = both_plan();
  plan.iterations = 16;
  Pair pair(plan);
  pair.passive_faults.delay = std::chrono::milliseconds(700);
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
  EXPECT_EQ(outcomes.active->received, 16U);
}

TEST(BothWays, WhatFailedFirstIsTold) {
  Pair pair(both_plan());
  pair.active_faults.unplugged = true;
  const Outcomes outcomes = pair.run();
  ASSERT_FALSE(outcomes.active);
  EXPECT_EQ(describe(outcomes.active.error()),
            describe(verbs::explain({.status = fakes::kRetriesExceeded}, "peer")));
}

}  // namespace
}  // namespace chokepoint::rdma::perf
