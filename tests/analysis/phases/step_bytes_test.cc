#include "analysis/phases/step_bytes.h"

#include <gtest/gtest.h>

#include "analysis/phases/steps.h"
#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

std::vector<StepUnit> four_steps() {
  std::vector<StepUnit> units;
  for (const Span& step : steps_ms(4, 100)) {
    units.push_back({.first = static_cast<std::int64_t>(units.size()), .span = step});
  }
  return units;
}

record::Collective exchanged(Span span, std::int64_t bytes) {
  return {.start_ns = span.start_ns, .end_ns = span.end_ns, .bytes = bytes};
}

TEST(StepBytes, OfAMessageBesideTwoStepsArePartedByTime) {
  TimelineRun run(2);
  run.add(0, exchanged(span_ms(150, 250), 1000));
  run.add(0, exchanged(span_ms(320, 320), 7));
  run.add(1, exchanged(span_ms(0, 100), 900));  // of a node that has less
  std::vector<StepUnit> units = four_steps();
  fill_in_bytes(run.data, run.clocks, units);
  EXPECT_EQ(units[0].bytes, 0);
  EXPECT_NEAR(units[1].bytes, 500, 1e-3);
  EXPECT_NEAR(units[2].bytes, 500, 1e-3);
  EXPECT_NEAR(units[3].bytes, 7, 1e-3);
}

TEST(StepBytes, AreOfPacketsWithoutMessages) {
  TimelineRun run(2);
  const std::int64_t id = run.connect(0, 1);
  run.data.connections[0].names = {run.data.nodes[0].name, run.data.nodes[1].name};
  run.flow(0, id).packets[0].push_back(
      {.t_ns = ms_ns(210), .bin_ns = ms_ns(10), .flow = id, .payload_bytes = 4000});
  std::vector<StepUnit> units = four_steps();
  fill_in_bytes(run.data, run.clocks, units);
  EXPECT_EQ(units[1].bytes, 0);
  EXPECT_NEAR(units[2].bytes, 4000, 1e-3);
}

TEST(StepBytes, AreUnknownOutsideOfWhatWasRead) {
  TimelineRun run(1);
  run.data.nodes[0].windows = {span_ms(0, 100), span_ms(100, 250)};
  std::vector<StepUnit> units = four_steps();
  fill_in_bytes(run.data, run.clocks, units);
  EXPECT_TRUE(units[1].is_read);
  EXPECT_FALSE(units[2].is_read);
}

TEST(ChooseSteps, AreWholeRoundsWhereRanksSeldomExchange) {
  TimelineRun run(2);
  run.add_steps(0, steps_ms(40, 100));
  for (int step = 4; step < 40; step += 5) {
    run.add(0, exchanged(span_ms(step * 100 + 50, step * 100 + 90), 1'000'000));
  }
  const StepLine line = choose_steps(run.data, run.clocks);
  ASSERT_TRUE(line.rounds);
  EXPECT_EQ(line.rounds->every, 5);
  EXPECT_EQ(line.settled.size(), 35U);
  EXPECT_EQ(line.settled.front().start_ns, ms_ns(500));
}

}  // namespace
}  // namespace chokepoint::analysis
