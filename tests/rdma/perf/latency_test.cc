#include <gmock/gmock.h>

#include "tests/rdma/perf/pair.h"

namespace chokepoint::rdma::perf {
namespace {

using fakes::Outcomes;
using fakes::Pair;
using verbs::Operation;
using verbs::Transport;

Plan latency_plan(Operation operation = Operation::Write) {
  return {.operation = operation,
          .metric = Metric::Latency,
          .message_bytes = 8,
          .depth = 8,
          .iterations = 300};
}

class EveryLatency : public testing::TestWithParam<Operation> {};

INSTANTIATE_TEST_SUITE_P(Latency, EveryLatency,
                         testing::Values(Operation::Write, Operation::WriteImmediate,
                                         Operation::Read, Operation::Send, Operation::FetchAndAdd,
                                         Operation::CompareAndSwap));

TEST_P(EveryLatency, HasASampleForEachMessage) {
  Pair pair(latency_plan(GetParam()));
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
  ASSERT_TRUE(outcomes.passive) << describe(outcomes.passive.error());
  EXPECT_EQ(outcomes.active->messages, 300U);
  EXPECT_EQ(outcomes.active->latency_ns->count(), 300U);
  EXPECT_GT(outcomes.active->duration_ns, 0);
  EXPECT_EQ(outcomes.active->resent, 0U);
  EXPECT_LE(pair.fabric.traffic("fake0").largest_outstanding, 8U);
}

TEST_P(EveryLatency, SamplesAddUpToTheDuration) {
  Pair pair(latency_plan(GetParam()));
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active);
  const bool whole = pair.plan.operation == Operation::Read ||
                     pair.plan.operation == Operation::FetchAndAdd ||
                     pair.plan.operation == Operation::CompareAndSwap;
  const double sum = outcomes.active->latency_ns->mean() * 300 * (whole ? 1 : 2);
  EXPECT_NEAR(sum, static_cast<double>(outcomes.active->duration_ns), 600);  // halves cut off
}

TEST_P(EveryLatency, WarmUpIsNotMeasured) {
  Plan plan = latency_plan(GetParam());
  plan.warm_up = 20;
  plan.iterations = 10;
  Pair pair(plan);
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active);
  EXPECT_EQ(outcomes.active->latency_ns->count(), 10U);
  EXPECT_EQ(pair.fabric.traffic("fake0").messages, 30U);
}

TEST_P(EveryLatency, EndsByTime) {
  Plan plan = latency_plan(GetParam());
  plan.iterations = {};
  plan.warm_up = 3;
  plan.time = std::chrono::milliseconds(20);
  Pair pair(plan);
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
  ASSERT_TRUE(outcomes.passive) << describe(outcomes.passive.error());
  EXPECT_GT(outcomes.active->messages, 0U);
  EXPECT_GE(outcomes.active->duration_ns, 20'000'000);
}

TEST_P(EveryLatency, WorksOneDeep) {
  Plan plan = latency_plan(GetParam());
  plan.depth = 1;
  plan.receive_depth = 1;
  Pair pair(plan);
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
  EXPECT_EQ(outcomes.active->latency_ns->count(), 300U);
  EXPECT_EQ(pair.fabric.traffic("fake0").largest_outstanding, 1U);
}

TEST_P(EveryLatency, EndsWhenToldAndKeepsWhatWasMeasured) {
  Plan plan = latency_plan(GetParam());
  plan.iterations = {};
  plan.time = std::chrono::hours(1);
  Pair pair(plan);
  pair.active->monitor.ends_after = 3;
  pair.active_faults.delay = std::chrono::milliseconds(1);  // monitor is asked while waiting
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
  EXPECT_GT(outcomes.active->messages, 0U);
}

TEST_P(EveryLatency, EndsWhenToldThoughItNeverWaits) {
  Plan plan = latency_plan(GetParam());
  plan.iterations = {};
  plan.time = std::chrono::hours(1);
  Pair pair(plan);
  pair.active->monitor.ends_when = [&] { return pair.fabric.traffic("fake0").completions > 10; };
  const Outcomes outcomes = pair.run();
  ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
  EXPECT_GT(outcomes.active->messages, 0U);
}

TEST_P(EveryLatency, APeerThatIsGoneEndsIt) {
  Pair pair(latency_plan(GetParam()));
  pair.active_faults.unplugged = true;
  const Outcomes outcomes = pair.run();
  ASSERT_FALSE(outcomes.active);
  EXPECT_EQ(describe(outcomes.active.error()),
            describe(verbs::explain({.status = fakes::kRetriesExceeded}, "peer")));
}

TEST(Latency, SleepsForCompletions) {
  for (const Operation operation :
       {Operation::WriteImmediate, Operation::Send, Operation::Read, Operation::FetchAndAdd}) {
    Plan plan = latency_plan(operation);
    plan.events = true;
    plan.iterations = 30;
    Pair pair(plan);
    pair.active_faults.delay = std::chrono::microseconds(300);
    const Outcomes outcomes = pair.run();
    ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
    EXPECT_EQ(outcomes.active->latency_ns->count(), 30U);
    EXPECT_GE(outcomes.active->latency_ns->min(), 150'000U);  // half of a way that is delayed
  }
}

TEST(Latency, WritesNeedAProcessorThatLooks) {
  Plan plan = latency_plan();
  plan.events = true;
  Pair pair(plan);
  const auto side = pair.active->side(Role::Active, *pair.passive);
  const auto prepared = prepare(side, plan);
  ASSERT_FALSE(prepared);
  EXPECT_EQ(describe(prepared.error()),
            "latency of writes: 8 KiB: the processor has to see the last byte change; write with "
            "immediate value or send instead");
}

TEST(Latency, ALostMessageIsSentAgainAndCounted) {
  for (const auto& [transport, operation] :
       {std::pair(Transport::Ud, Operation::Send), std::pair(Transport::Uc, Operation::Send),
        std::pair(Transport::Uc, Operation::Write),
        std::pair(Transport::Uc, Operation::WriteImmediate)}) {
    Plan plan = latency_plan(operation);
    plan.transport = transport;
    plan.iterations = 50;
    Pair pair(plan);
    pair.active_faults.lose_every = 20;
    pair.passive_faults.lose_every = 30;
    const Outcomes outcomes = pair.run();
    ASSERT_TRUE(outcomes.active) << describe(outcomes.active.error());
    ASSERT_TRUE(outcomes.passive) << describe(outcomes.passive.error());
    EXPECT_EQ(outcomes.active->messages, 50U);
    EXPECT_EQ(outcomes.passive->messages, 50U);
    EXPECT_GT(outcomes.active->resent, 0U);
    EXPECT_GE(outcomes.active->latency_ns->count() + outcomes.active->resent, 50U);
    EXPECT_LT(outcomes.active->latency_ns->count(), 50U);
  }
}

TEST(Latency, APassiveSideThatWaitsEndsWhenTold) {
  Plan plan = latency_plan();
  Pair pair(plan);
  pair.active->monitor.fails = true;
  pair.active_faults.delay = std::chrono::hours(1);
  const Outcomes outcomes = pair.run();
  ASSERT_FALSE(outcomes.active);
  ASSERT_TRUE(outcomes.passive);
  EXPECT_EQ(outcomes.passive->messages, 0U);
}

TEST(Latency, APassiveSideWhosePeerIsGoneFails) {
  Pair pair(latency_plan(Operation::Send));
  pair.active->monitor.fails = true;
  pair.active_faults.delay = std::chrono::hours(1);
  pair.passive->monitor.fails = true;
  const Outcomes outcomes = pair.run();
  ASSERT_FALSE(outcomes.passive);
  EXPECT_EQ(outcomes.passive.error().kind, ErrorKind::Interrupted);
}

}  // namespace
}  // namespace chokepoint::rdma::perf
