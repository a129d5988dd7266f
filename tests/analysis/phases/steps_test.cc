#include "analysis/phases/steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

using record::StepSource;

TEST(ChooseSteps, AreNoneWhereNoNodeHasAny) {
  const TimelineRun run(2);
  const StepLine line = choose_steps(run.data, run.clocks);
  EXPECT_FALSE(line.source);
  EXPECT_TRUE(line.all.empty());
  EXPECT_TRUE(line.settled.empty());
}

TEST(CountBetween, IsOfStepsThatWereNotReadToo) {
  Spans settled = steps_ms(5, 100);
  EXPECT_DOUBLE_EQ(count_between(settled), 5);
  const Spans later = steps_ms(5, 100, 9500);
  settled.insert(settled.end(), later.begin(), later.end());
  EXPECT_DOUBLE_EQ(count_between(settled), 100);
  EXPECT_EQ(count_between({}), 0);
}

TEST(ChooseSteps, TakesTheBestSourceThatAnyNodeHas) {
  TimelineRun run(3);
  run.add_steps(0, steps_ms(50, 10), 0, StepSource::Traffic);
  run.add_steps(1, steps_ms(20, 25), 1, StepSource::Output);
  run.add_steps(2, steps_ms(40, 12), 2, StepSource::Collectives);
  const StepLine line = choose_steps(run.data, run.clocks);
  EXPECT_EQ(line.source, StepSource::Output);
  EXPECT_EQ(line.all.size(), 20U);
}

TEST(ChooseSteps, TakesThoseOfOneRankTheOneThatHasMost) {
  TimelineRun run(2);
  run.add_steps(0, steps_ms(4, 100), 0);
  run.add_steps(0, steps_ms(7, 50), 1);
  run.add_steps(1, steps_ms(5, 70), 2);
  const StepLine line = choose_steps(run.data, run.clocks);
  ASSERT_EQ(line.all.size(), 7U);
  EXPECT_EQ(line.all.front().length_ns(), ms_ns(50));
}

TEST(ChooseSteps, CutsOneThatStandsForSeveral) {
  TimelineRun run(1);
  run.add_steps(0, {span_ms(0, 400), span_ms(400, 500)});
  run.data.nodes[0].steps[0].merged = 4;
  const StepLine line = choose_steps(run.data, run.clocks);
  ASSERT_EQ(line.all.size(), 5U);
  for (const Span& step : line.all) {
    EXPECT_EQ(step.length_ns(), ms_ns(100));
  }
  EXPECT_EQ(line.all.back().end_ns, ms_ns(500));
}

TEST(ChooseSteps, TakesOneThatStandsForNoneAsOne) {
  TimelineRun run(1);
  run.add_steps(0, {span_ms(0, 100), span_ms(100, 200)});
  run.data.nodes[0].steps[0].merged = 0;
  run.data.nodes[0].steps[1].merged = -3;
  EXPECT_EQ(choose_steps(run.data, run.clocks).all.size(), 2U);
}

// As many days as the product of length and count does not fit into 64 bits.
TEST(ChooseSteps, CutsALongOneIntoVeryMany) {
  TimelineRun run(1);
  constexpr std::int64_t kMany = 200'000;
  const std::int64_t length_ns = kMany * 1'000'000'000;
  run.add_steps(0, {{7, 7 + length_ns}});
  run.data.nodes[0].steps[0].merged = kMany;
  const StepLine line = choose_steps(run.data, run.clocks);
  ASSERT_EQ(line.all.size(), static_cast<std::size_t>(kMany));
  EXPECT_EQ(line.all.back().end_ns, 7 + length_ns);
  for (const Span& step : line.all) {
    ASSERT_EQ(step.length_ns(), 1'000'000'000);
  }
}

// A row of sixty bytes may say that it stands for any number of steps.
TEST(ChooseSteps, LeavesOutARowThatStandsForMoreThanMemoryHas) {
  TimelineRun run(1);
  run.add_steps(0, steps_ms(20, 100));
  run.data.nodes[0].steps[3].merged = std::int64_t{1} << 61;
  run.data.nodes[0].steps[5].merged = std::int64_t{1} << 61;
  run.data.nodes[0].steps[7].merged = std::int64_t{1} << 61;
  run.data.nodes[0].steps[9].merged = std::int64_t{1} << 61;
  EXPECT_EQ(choose_steps(run.data, run.clocks).all.size(), 16U);
}

TEST(ChooseSteps, LeavesOutTheFirstOnesWhereThereAreEnough) {
  TimelineRun many(1);
  many.add_steps(0, steps_ms(20, 100));
  const StepLine of_many = choose_steps(many.data, many.clocks);
  EXPECT_LT(of_many.settled.size(), of_many.all.size());
  EXPECT_GT(of_many.settled.front().start_ns, 0);
  EXPECT_EQ(of_many.settled.back().end_ns, of_many.all.back().end_ns);

  TimelineRun few(1);
  few.add_steps(0, steps_ms(3, 100));
  const StepLine of_few = choose_steps(few.data, few.clocks);
  EXPECT_EQ(of_few.settled.size(), 3U);
}

TEST(ChooseSteps, LeavesOutThoseThatEndBeforeTheyBegin) {
  TimelineRun run(1);
  run.add_steps(0, {span_ms(0, 100), span_ms(200, 150), span_ms(200, 200), span_ms(200, 300)});
  EXPECT_EQ(choose_steps(run.data, run.clocks).all.size(), 2U);
}

// A better source of which no step can be used is none.
TEST(ChooseSteps, DoesNotCountStepsWithoutLength) {
  TimelineRun run(2);
  run.add_steps(0, {span_ms(100, 100), span_ms(200, 200)}, 0, StepSource::Marks);
  run.add_steps(1, steps_ms(3, 100), 1, StepSource::Output);
  const StepLine line = choose_steps(run.data, run.clocks);
  EXPECT_EQ(line.source, StepSource::Output);
  EXPECT_EQ(line.all.size(), 3U);
}

TEST(ChooseSteps, AreInOrderAndOnTheCommonClock) {
  TimelineRun run(2);
  run.add_steps(1, {span_ms(1100, 1200), span_ms(1000, 1100)});
  run.clocks.nodes[1].to_common = ClockMap({{0, -ms_ns(1000)}});
  const StepLine line = choose_steps(run.data, run.clocks);
  ASSERT_EQ(line.all.size(), 2U);
  EXPECT_EQ(line.all[0].start_ns, 0);
  EXPECT_EQ(line.all[1].end_ns, ms_ns(200));
}

// Where samples were read of windows only, the steps between them would look free of traffic.
//
//   windows     ├────────┤                    ├────────┤
//   steps     │ 0 │ 1 │ 2 │ 3 │ 4 │ 5 │ 6 │ 7 │ 8 │ 9 │ …
TEST(ChooseSteps, SettledAreThoseOfWhichSamplesWereRead) {
  TimelineRun run(2);
  run.add_steps(0, steps_ms(100, 10));
  for (NodeData& node : run.data.nodes) {
    node.windows = {span_ms(95, 205), span_ms(700, 755)};
  }
  const StepLine line = choose_steps(run.data, run.clocks);
  EXPECT_EQ(line.all.size(), 100U);
  ASSERT_EQ(line.settled.size(), 10U + 5U);
  EXPECT_EQ(line.settled.front().start_ns, ms_ns(100));
  EXPECT_EQ(line.settled.back().end_ns, ms_ns(750));
}

TEST(ChooseSteps, AreAllSettledWhereNoWindowHoldsAWholeOne) {
  TimelineRun run(1);
  run.add_steps(0, steps_ms(3, 1000));
  run.data.nodes[0].windows = {span_ms(100, 200)};
  EXPECT_EQ(choose_steps(run.data, run.clocks).settled.size(), 3U);
}

// Two nodes with 40 steps of 100 ms.
class Horizon : public testing::Test {
 protected:
  Horizon() {
    for (const std::size_t node : {0U, 1U}) {
      run_.add_steps(node, steps_ms(40, 100), static_cast<std::int64_t>(node));
      run_.data.nodes[node].is_complete = true;
    }
  }
  void exchanged_until(std::size_t node, double ms) {
    run_.data.nodes[node].collectives.push_back(row({.ready_ms = ms - 10, .end_ms = ms}));
  }
  std::size_t settled() const { return choose_steps(run_.data, run_.clocks).settled.size(); }

  TimelineRun run_{2};
};

TEST_F(Horizon, IsNoneWhereTheWatchingEnded) {
  exchanged_until(0, 1000);
  EXPECT_EQ(known_until_ns(run_.data, run_.clocks), INT64_MAX);
  EXPECT_EQ(settled(), 38U);
}

TEST_F(Horizon, IsTheLastCollectiveOfARunThatGoesOn) {
  run_.data.nodes[1].is_complete = false;
  exchanged_until(0, 3900);
  exchanged_until(1, 2500);
  EXPECT_EQ(known_until_ns(run_.data, run_.clocks), ms_ns(2500));
  EXPECT_EQ(settled(), 23U);
}

TEST_F(Horizon, StaysBehindTheSamplesWhereThereMayBeCollectivesYet) {
  run_.data.nodes[0].is_complete = false;
  const std::int64_t flow = run_.connect(0, 1);
  run_.flow(0, flow).sockets[0] = {{.t_ns = ms_ns(4500)}};
  run_.flow(0, flow).packets[1] = {{.t_ns = ms_ns(4200)}};
  EXPECT_EQ(known_until_ns(run_.data, run_.clocks), ms_ns(2000));
  EXPECT_EQ(settled(), 18U);
}

// Some jobs begin with another library than the one that moves their data.
TEST_F(Horizon, DoesNotWaitForCollectivesThatWillNotCome) {
  run_.data.nodes[0].is_complete = false;
  exchanged_until(0, 500);
  run_.flow(0, run_.connect(0, 1)).sockets[0] = {{.t_ns = ms_ns(4500)}};
  EXPECT_EQ(known_until_ns(run_.data, run_.clocks), ms_ns(2000));
}

TEST_F(Horizon, LeavesNoStepOfARunThatHasJustBegun) {
  run_.data.nodes[0].is_complete = false;
  run_.flow(0, run_.connect(0, 1)).sockets[0] = {{.t_ns = ms_ns(150)}};
  EXPECT_EQ(settled(), 0U);
}

TEST_F(Horizon, IsNoneOfAHostThatSeesNoTrafficAtAll) {
  run_.data.nodes[0].is_complete = false;
  EXPECT_EQ(settled(), 38U);
}

// A silent pipeline, whose traffic recurs with every round trip.
TEST(MessageSteps, BeginWithTheFirstMicroBatch) {
  TimelineRun run(2);
  run.add_steps(0, steps_ms(400, 10), {}, record::StepSource::Traffic);
  const std::int64_t flow = run.connect(0, 1);
  for (int step = 0; step < 20; ++step) {
    for (const auto& [kind, from] : {std::pair(record::CollectiveKind::Send, 0.0),
                                     std::pair(record::CollectiveKind::Receive, 80.0)}) {
      for (int number = 0; number < 4; ++number) {
        const double ready = 200 * step + from + 10 * number;
        run.add(
            0, row({.kind = kind, .number = number, .ready_ms = ready, .end_ms = ready + 5}, flow));
      }
    }
  }
  const StepLine line = choose_steps(run.data, run.clocks);
  EXPECT_EQ(line.source, record::StepSource::Collectives);
  ASSERT_EQ(line.all.size(), 18U) << "the first one's begin is not sure, nor the last one's end";
  EXPECT_EQ(line.all.front().start_ns, ms_ns(200));
  EXPECT_EQ(line.all.front().end_ns, ms_ns(400));
}

TEST(MessageSteps, AreNotToldByMessagesOfOneNumber) {
  TimelineRun run(2);
  run.add_steps(0, steps_ms(400, 10), {}, record::StepSource::Traffic);
  const std::int64_t flow = run.connect(0, 1);
  for (int message = 0; message < 80; ++message) {
    run.add(0, row({.kind = record::CollectiveKind::Send,
                    .ready_ms = 50.0 * message,
                    .end_ms = 50.0 * message + 5},
                   flow));
  }
  EXPECT_EQ(choose_steps(run.data, run.clocks).source, record::StepSource::Traffic);
}

}  // namespace

}  // namespace chokepoint::analysis
