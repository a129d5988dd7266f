#include "analysis/phases/goodput.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

using testing::SizeIs;

constexpr std::int64_t kGoodputMs = 1'000'000;

class GoodputTest : public testing::Test {
 protected:
  GoodputTest() { run_.nodes.push_back({.name = "a", .span = {0, 20'000 * kGoodputMs}}); }

  // Steps of 100 ms from 2 s on, with pauses of a second before the steps of these numbers.
  StepLine steps(std::size_t count, const std::vector<std::size_t>& pauses_before) {
    StepLine line{.source = record::StepSource::Marks};
    std::int64_t t_ns = 2'000 * kGoodputMs;
    for (std::size_t at = 0; at < count; ++at) {
      t_ns += std::ranges::count(pauses_before, at) * 1'000 * kGoodputMs;
      line.all.push_back({t_ns, t_ns + 100 * kGoodputMs});
      t_ns += 100 * kGoodputMs;
    }
    return line;
  }

  // A counter that grows evenly, and beside it by `more` between these moments.
  void counter(std::string_view name, double all, double more, Span when) {
    SeriesData series{.row = {.name = std::string(name)}};
    double extra = 0;
    for (std::int64_t t_ns = 0; t_ns <= 20'000 * kGoodputMs; t_ns += 100 * kGoodputMs) {
      extra += t_ns > when.start_ns && t_ns <= when.end_ns
                   ? more * 100 * kGoodputMs / static_cast<double>(when.length_ns())
                   : 0;
      series.readings.push_back(
          {.t_ns = t_ns,
           .bin_ns = 100 * kGoodputMs,
           .value = all * static_cast<double>(t_ns) / (20'000.0 * kGoodputMs) + extra});
    }
    run_.nodes.front().series.push_back(series);
  }

  std::optional<Goodput> of(const StepLine& line) {
    return goodput_of(run_, fit_clocks(run_), line);
  }

  RunData run_;
};

TEST_F(GoodputTest, IsWhatStepsTakeOfTheRun) {
  const auto found = of(steps(100, {}));
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->run_s, 20);
  EXPECT_DOUBLE_EQ(found->start_s, 2);
  EXPECT_DOUBLE_EQ(found->end_s, 8);
  EXPECT_DOUBLE_EQ(found->steps_s, 10);
  EXPECT_DOUBLE_EQ(found->percent(), 50);
  EXPECT_EQ(found->pauses, 0);
}

TEST_F(GoodputTest, PausesBetweenStepsAreNamedByWhatTheJobDoesMeanwhile) {
  const StepLine line = steps(100, {20, 50});  // at 4 s and at 8 s
  counter(record::kJobWrittenBytes, 1e6, 50e6, {4'000 * kGoodputMs, 5'000 * kGoodputMs});
  counter(record::kProcessCpu, 0, 0.9e9, {8'000 * kGoodputMs, 9'000 * kGoodputMs});
  const auto found = of(line);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->pauses, 2);
  EXPECT_DOUBLE_EQ(found->pauses_s, 2);
  EXPECT_DOUBLE_EQ(found->steps_s, 10);
  ASSERT_THAT(found->longest, SizeIs(2));
  EXPECT_DOUBLE_EQ(found->longest[0].at_s, 4);
  EXPECT_EQ(found->longest[0].does, PauseDoes::WritesFiles);
  EXPECT_EQ(found->longest[1].does, PauseDoes::UsesProcessors);
}

// Where a step lasts until the next one begins, a pause is part of a step.
TEST_F(GoodputTest, AStepThatIsFarLongerThanUsualHasAPause) {
  StepLine line = steps(50, {25});
  line.all[24].end_ns = line.all[25].start_ns;
  const auto found = of(line);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->pauses, 1);
  EXPECT_NEAR(found->pauses_s, 1, 1e-9);
  EXPECT_EQ(found->longest.front().does, PauseDoes::NothingSeen);
}

TEST_F(GoodputTest, AnExchangeThatComesEverySoManyStepsIsNoPause) {
  StepLine line = steps(50, {25});
  line.all[24].end_ns = line.all[25].start_ns;
  line.rounds = SyncRounds{.every = 25, .syncs = {{.unit = 24, .span = line.all[24]}}};
  EXPECT_EQ(of(line)->pauses, 0);
}

TEST_F(GoodputTest, WithoutStepsThereIsNone) { EXPECT_FALSE(of({})); }

}  // namespace
}  // namespace chokepoint::analysis
