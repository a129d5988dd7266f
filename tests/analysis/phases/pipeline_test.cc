#include "analysis/phases/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analysis/phases/lateness.h"
#include "tests/analysis/phases/pipelines.h"

namespace chokepoint::analysis {
namespace {

std::map<std::size_t, double> lost_by_sender_ms(const Exchanges& exchanges) {
  std::map<std::size_t, double> lost;
  for (const Late& late : late_senders(exchanges, meetings_of(exchanges))) {
    lost[late.node] += late.lost_ns / 1e6;
  }
  return lost;
}

double of(const std::map<std::size_t, double>& lost, std::size_t node) {
  return lost.contains(node) ? lost.at(node) : 0;
}

TEST(LateSenders, AreNoneOfNothingOrWithoutTheReceiversRecord) {
  EXPECT_TRUE(late_senders({}, {}).empty());
  Exchanges exchanges = pipeline({.stages = 2, .late_stage = 0, .late_ms = 50});
  exchanges[1].clear();
  EXPECT_TRUE(late_senders(exchanges, meetings_of(exchanges)).empty());
}

TEST(LateSenders, AreHardlyAnyInAPipelineThatRunsEvenly) {
  for (const std::size_t stages : {2U, 3U, 4U}) {
    const PipelinePlan plan{.stages = stages};
    double sum = 0;
    for (const auto& [node, lost] : lost_by_sender_ms(pipeline(plan))) {
      sum += lost;
    }
    EXPECT_LT(sum, 0.05 * plan.steps * pipeline_step_ms(plan)) << stages;
  }
}

TEST(LateSenders, NameAnEndStage) {
  const PipelinePlan plan{.stages = 3, .late_stage = 0, .late_ms = 60};
  const auto lost = lost_by_sender_ms(pipeline(plan));
  EXPECT_GT(of(lost, 0), plan.late_steps() * 60 * 0.3);
  EXPECT_GT(of(lost, 0), 3 * (of(lost, 1) + of(lost, 2)));
}

TEST(LateSenders, NameAMiddleStage) {
  const PipelinePlan plan{.stages = 3, .late_stage = 1, .late_ms = 60};
  const auto lost = lost_by_sender_ms(pipeline(plan));
  EXPECT_GT(of(lost, 1), plan.late_steps() * 60 * 0.3);
  EXPECT_GT(of(lost, 1), 3 * (of(lost, 0) + of(lost, 2)));
}

constexpr int kSteps = 10;
constexpr int kBatches = 6;

struct TwoStages {
  Exchanges exchanges = Exchanges(2);
  Spans steps = {};
};

// All forward, then all backward. The last stage is late at each message that it sends back.
TwoStages two_stages(double forward_ms, double backward_ms, double late_ms) {
  TwoStages made;
  // Of the first messages it may not be known to which connection they belong.
  for (std::size_t node = 0; node < 2; ++node) {
    made.exchanges[node].push_back(
        received({.node = node, .number = -1, .connection = -1, .ready = 900, .end = 910}));
    made.exchanges[node].push_back(
        sent({.node = node, .number = -1, .connection = -1, .ready = 920, .end = 930}));
  }
  const auto pass = [&](std::size_t from, int number, double sent_at, double taken_at) {
    const double end = std::max(sent_at, taken_at) + 0.1;
    made.exchanges[from].push_back(
        sent({.node = from, .number = number, .ready = sent_at, .end = end}));
    made.exchanges[1 - from].push_back(
        received({.node = 1 - from, .number = number, .ready = taken_at, .end = end}));
    return end;
  };
  double at = 1000;
  for (int step = 0; step < kSteps; ++step) {
    const double begin = at;
    double free_0 = at;
    double free_1 = at;
    for (int batch = 0; batch < kBatches; ++batch) {
      free_0 += forward_ms;
      free_1 = pass(0, 2 * batch, free_0, free_1) + forward_ms;
    }
    for (int batch = 0; batch < kBatches; ++batch) {
      free_1 += backward_ms + late_ms;
      free_0 = pass(1, 2 * batch + 1, free_1, free_0) + backward_ms;
    }
    at = free_0;
    made.steps.push_back(span_ms(begin, at));
  }
  for (auto& of_stage : made.exchanges) {
    std::ranges::sort(of_stage, {}, &Exchange::own_ready_ns);
  }
  return made;
}

// Late at each message, so that it usually is: the other stage tells how long one computes.
TEST(LateSenders, NameAStageThatIsLateAtEachMessage) {
  constexpr double kLate = 70;
  for (const double late_ms : {0.0, kLate}) {
    const TwoStages run = two_stages(10, 20, late_ms);
    std::map<std::size_t, double> lost;
    for (const Late& late : late_senders(run.exchanges, meetings_of(run.exchanges), run.steps)) {
      lost[late.node] += late.lost_ns / 1e6;
    }
    EXPECT_NEAR(of(lost, 1), kSteps * kBatches * late_ms, 0.12 * kSteps * kBatches * kLate);
    EXPECT_LT(of(lost, 0), 0.05 * kSteps * kBatches * kLate);
  }
}

// Of copies of the model, one pipeline each, the same stage of the others tells how long it
// computes, whatever it computes beside the stages of its own.
TEST(LateSenders, AreHeldAgainstTheSameStageOfPipelinesSideBySide) {
  constexpr double kLate = 15;
  Exchanges exchanges;
  Spans steps;
  for (std::int64_t copy = 0; copy < 3; ++copy) {
    TwoStages run = two_stages(30, 20, copy == 1 ? kLate : 0);
    for (std::vector<Exchange>& stage : run.exchanges) {
      for (Exchange& exchange : stage) {
        exchange.rank = 2 * copy + static_cast<std::int64_t>(exchange.node);
        exchange.connection += exchange.connection < 0 ? 0 : 100 * copy;
      }
      exchanges.push_back(std::move(stage));
    }
    steps = run.steps;
  }
  std::map<std::size_t, double> lost;
  for (const Late& late : late_senders(exchanges, meetings_of(exchanges), steps)) {
    lost[static_cast<std::size_t>(late.rank)] += late.lost_ns / 1e6;
  }
  EXPECT_NEAR(of(lost, 3), kSteps * kBatches * kLate, 0.1 * kSteps * kBatches * kLate);
  for (const std::size_t rank : {0U, 1U, 2U, 4U, 5U}) {
    EXPECT_LT(of(lost, rank), 0.05 * kSteps * kBatches * kLate) << rank;
  }
}

// Two micro-batches a step; the last stage takes the first of them so long after it was sent.
std::map<std::size_t, double> lost_by_last_stage(double late_ms) {
  Exchanges exchanges(2);
  for (int step = 0; step < 10; ++step) {
    const double base = 200 * step;
    const double first = base + 10 + late_ms;
    const auto pass = [&](std::size_t from, int number, double sent_at, double taken_at) {
      const double end = std::max(sent_at, taken_at) + 1;
      exchanges[from].push_back(
          sent({.node = from, .number = number, .ready = sent_at, .end = end}));
      exchanges[1 - from].push_back(
          received({.node = 1 - from, .number = number, .ready = taken_at, .end = end}));
    };
    pass(0, 4 * step, base + 10, first);
    pass(1, 4 * step + 1, first + 20, base + 15);
    pass(0, 4 * step + 2, base + 20, first + 21);
    pass(1, 4 * step + 3, first + 41, first + 23);
  }
  for (auto& of_stage : exchanges) {
    std::ranges::sort(of_stage, {}, &Exchange::own_ready_ns);
  }
  return lost_by_sender_ms(exchanges);
}

TEST(LateReceivers, AreStagesThatTakeTheirFirstMessageLate) {
  EXPECT_NEAR(of(lost_by_last_stage(50), 1), 9 * 50, 9 * 2) << "before the first nothing is known";
  EXPECT_LT(of(lost_by_last_stage(-5), 1), 9 * 2) << "what it computed between is no lateness";
}

//   stage 0   sends 0 … 3 ─┐                       ┌─ thinks, sends 0 … 3
//   stage 1                └─ … sends 0 … 3 back ──┘
TEST(LateSenders, AreNoneWhereAnEarlyMessageHadNoConnectionYet) {
  Exchanges exchanges(2);
  exchanges[0].push_back(
      received({.node = 0, .number = 0, .connection = -1, .ready = 900, .end = 996}));
  for (int step = 0; step < 10; ++step) {
    const double base = 1000 + 100 * step;
    for (int number = 0; number < 4; ++number) {
      const double there = base + 2 + 2 * number;
      const double back = base + 84 + 4 * number;
      exchanges[0].push_back(
          sent({.node = 0, .number = number, .ready = there, .end = there + 0.1}));
      exchanges[1].push_back(
          received({.node = 1, .number = number, .ready = base - 2, .end = there + 0.1}));
      exchanges[1].push_back(sent({.node = 1, .number = number, .ready = back, .end = back + 0.1}));
      exchanges[0].push_back(
          received({.node = 0, .number = number, .ready = base, .end = back + 0.1}));
    }
  }
  for (auto& of_node : exchanges) {
    std::ranges::sort(of_node, {}, &Exchange::own_ready_ns);
  }
  EXPECT_EQ(of(lost_by_sender_ms(exchanges), 0), 0);
}

TEST(LateSenders, LoseNoMoreThanTheReceiverWaited) {
  Exchanges exchanges = pipeline({.stages = 2, .late_stage = 0, .late_ms = 60});
  for (Exchange& exchange : exchanges[1]) {
    // Came only after the late one had sent.
    exchange.own_ready_ns = is_message(exchange) && exchange.kind == record::CollectiveKind::Receive
                                ? exchange.end_ns
                                : exchange.own_ready_ns;
  }
  EXPECT_EQ(of(lost_by_sender_ms(exchanges), 0), 0);
}

TEST(IdealStep, IsWhatThePipelineTakesWithoutANetwork) {
  for (const std::size_t stages : {2U, 3U, 4U}) {
    const PipelinePlan plan{.stages = stages, .message_ms = 0.01};
    const auto ideal = ideal_step_ns(pipeline(plan), pipeline_steps(plan));
    ASSERT_TRUE(ideal) << stages;
    EXPECT_NEAR(*ideal / 1e6, pipeline_step_ms(plan), 0.25 * pipeline_step_ms(plan)) << stages;
  }
}

TEST(IdealStep, DoesNotGrowWithTheTimeThatMessagesTake) {
  const PipelinePlan quick{.stages = 3, .message_ms = 0.01};
  const PipelinePlan slow{.stages = 3, .message_ms = 20};
  const auto of_quick = ideal_step_ns(pipeline(quick), pipeline_steps(quick));
  const auto of_slow = ideal_step_ns(pipeline(slow), pipeline_steps(slow));
  ASSERT_TRUE(of_quick && of_slow);
  EXPECT_NEAR(*of_slow / *of_quick, 1, 0.1);
}

// Messages whose headers were out of sight are part of the row before them.
TEST(IdealStep, IsTheSameWhereOnlySomeOfTheStepsWereRead) {
  const PipelinePlan plan{.steps = 30};
  const Spans all = pipeline_steps(plan);
  Spans some(all.begin(), all.begin() + 5);
  some.insert(some.end(), all.end() - 5, all.end());
  EXPECT_NEAR(*ideal_step_ns(pipeline(plan), some), *ideal_step_ns(pipeline(plan), all), 1e3);
}

TEST(IdealStep, CountsMessagesThatAnotherRowSwallowed) {
  const PipelinePlan plan{.stages = 3, .batches = 6, .message_ms = 0.01};
  Exchanges exchanges = pipeline(plan);
  const auto all = ideal_step_ns(exchanges, pipeline_steps(plan));
  std::vector<Exchange> left;
  std::size_t before = 0;  // place of the last sent
  int sends = 0;
  for (const Exchange& exchange : exchanges[0]) {
    const bool is_sent = exchange.kind == record::CollectiveKind::Send;
    if (is_sent && sends++ % 6 == 3) {
      left[before].bytes += exchange.bytes;
      continue;
    }
    before = is_sent ? left.size() : before;
    left.push_back(exchange);
  }
  exchanges[0] = left;
  const auto fewer = ideal_step_ns(exchanges, pipeline_steps(plan));
  ASSERT_TRUE(all && fewer);
  EXPECT_NEAR(*fewer / *all, 1, 0.05);
}

TEST(IdealStep, KnowsAnEndStageThatHasMessagesOfUnknownConnections) {
  const PipelinePlan plan{.stages = 3, .message_ms = 0.01};
  Exchanges exchanges = pipeline(plan);
  const auto known = ideal_step_ns(exchanges, pipeline_steps(plan));
  exchanges[2].front().connection = -1;
  const auto partly = ideal_step_ns(exchanges, pipeline_steps(plan));
  ASSERT_TRUE(known && partly);
  EXPECT_NEAR(*partly / *known, 1, 0.05);
}

// Each copy of the model has a pipeline of its own.
TEST(IdealStep, IsThatOfOnePipelineWhereSeveralGoSideBySide) {
  const PipelinePlan plan{.stages = 3, .message_ms = 0.01};
  Exchanges exchanges = pipeline(plan);
  const auto alone = ideal_step_ns(exchanges, pipeline_steps(plan));
  for (std::int64_t copy = 1; copy < 8; ++copy) {
    for (std::vector<Exchange> stage : pipeline(plan)) {
      for (Exchange& exchange : stage) {
        exchange.rank = 3 * copy + static_cast<std::int64_t>(exchange.node);
        exchange.connection += 100 * copy;
      }
      exchanges.push_back(std::move(stage));
    }
  }
  const auto together = ideal_step_ns(exchanges, pipeline_steps(plan));
  ASSERT_TRUE(alone && together);
  EXPECT_EQ(*together, *alone);
}

TEST(IdealStep, IsUnknownWithoutMessagesOrSteps) {
  EXPECT_FALSE(ideal_step_ns({}, steps_ms(3, 100)));
  EXPECT_FALSE(ideal_step_ns({{}, {}}, steps_ms(3, 100)));
  EXPECT_FALSE(ideal_step_ns({{all_reduce(0, 0, 0, 10)}, {}}, steps_ms(3, 100)));
  EXPECT_FALSE(ideal_step_ns(pipeline({.stages = 3}), {}));
}

}  // namespace
}  // namespace chokepoint::analysis
