#include "capture/step/traffic_period.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "tests/capture/step/synthetic_traffic.h"

namespace chokepoint::capture::step {
namespace {

constexpr double kNsPerMs = 1e6;
constexpr std::int64_t kEnd = std::numeric_limits<std::int64_t>::max();

// Looks once a second, or thrice a step where steps are longer, as a run does.
class Watched {
 public:
  explicit Watched(std::uint32_t seed) : traffic(seed) {}

  void play(const Pattern& pattern, int count) {
    const auto every_ns =
        std::max<std::int64_t>(1'000'000'000, std::llround(pattern.step_ms * kNsPerMs / 3));
    traffic.play(pattern, count, adding(every_ns));
    sample(traffic.now_ns());
  }
  void play_random(double mean_ms, double seconds) {
    traffic.play_random(mean_ms, seconds, adding(1'000'000'000));
    sample(traffic.now_ns());
  }
  void finish() { report(kEnd); }

  double median_ms() const {
    std::vector<double> durations;
    for (const Step& step : steps) {
      durations.push_back(static_cast<double>(step.end_ns - step.start_ns) / kNsPerMs);
    }
    std::ranges::sort(durations);
    return durations.empty() ? 0 : durations[durations.size() / 2];
  }
  // Of the steps that were really there from the first reported one's begin to the last one's.
  double true_mean_ms() const {
    const auto& begins = traffic.begins_ns;
    const std::size_t from =
        nearest(steps[steps.size() - std::min<std::size_t>(256, steps.size())].start_ns);
    const std::size_t to = nearest(steps.back().end_ns);
    return static_cast<double>(begins[to] - begins[from]) / kNsPerMs /
           static_cast<double>(to - from);
  }
  std::size_t nearest(std::int64_t t_ns) const {
    const auto& begins = traffic.begins_ns;
    const auto at = std::ranges::min_element(
        begins, {}, [&](std::int64_t begin) { return std::abs(begin - t_ns); });
    return static_cast<std::size_t>(at - begins.begin());
  }

  SyntheticTraffic traffic;
  TrafficPeriod period;
  std::optional<Period> newest;
  std::vector<Step> steps;
  int said = 0;

 private:
  OnBytes adding(std::int64_t every_ns) {
    return
        [this, every_ns, next = traffic.now_ns()](std::int64_t t_ns, std::uint64_t bytes) mutable {
          if (t_ns >= next) {
            sample(t_ns);
            next = t_ns + every_ns;
          }
          period.add(t_ns, bytes);
        };
  }
  void sample(std::int64_t now_ns) {
    newest = period.estimate(now_ns);
    said += newest ? 1 : 0;
    report(now_ns);
  }
  void report(std::int64_t now_ns) {
    period.report(now_ns, [this](const Step& step) { steps.push_back(step); });
  }
};

struct Case {
  const char* name;
  Pattern pattern;
  double most_percent = 1;  // off the true step time
};

class PeriodOf : public testing::TestWithParam<std::tuple<Case, double>> {};

TEST_P(PeriodOf, IsTheTrueStepTime) {
  const auto& [given, step_ms] = GetParam();
  Pattern pattern = given.pattern;
  pattern.step_ms = step_ms;
  Watched watched(7);
  watched.play(pattern, std::max(30, static_cast<int>(12'000 / step_ms)));
  watched.finish();
  ASSERT_TRUE(watched.newest);
  ASSERT_GT(watched.steps.size(), 8U);
  const double truth = watched.true_mean_ms();
  const double off = 100 * (watched.newest->period_ns / kNsPerMs / truth - 1);
  RecordProperty("off_percent", std::to_string(off));
  EXPECT_LT(std::abs(off), given.most_percent) << truth << " ms";
}

std::string name_of(const testing::TestParamInfo<std::tuple<Case, double>>& given) {
  return std::get<0>(given.param).name + std::string("_") +
         std::to_string(std::lround(std::get<1>(given.param))) + "ms";
}

INSTANTIATE_TEST_SUITE_P(
    Of, PeriodOf,
    testing::Combine(
        testing::Values(Case{"Plain", {}}, Case{"ShortBursts", {.jitter = 0.02, .busy = 0.05}},
                        Case{"LongBursts", {.jitter = 0.02, .busy = 0.7}},
                        Case{"Buckets", {.jitter = 0.03, .bursts = 4, .busy = 0.5, .fill = 0.6}},
                        Case{"TwoBuckets", {.jitter = 0.05, .bursts = 2, .busy = 0.6, .fill = 0.3}},
                        Case{"Noise", {.jitter = 0.05, .noise = 0.1}}),
        testing::Values(20.0, 33.3, 100.0, 422.0, 3'000.0, 30'000.0)),
    name_of);

// Where steps differ by a tenth each, some dozens of them do not tell their mean to a hundredth.
INSTANTIATE_TEST_SUITE_P(
    Jitter, PeriodOf,
    testing::Combine(
        testing::Values(
            Case{"Jitter", {.jitter = 0.1}, 1.5},
            Case{"All", {.jitter = 0.1, .bursts = 4, .busy = 0.5, .fill = 0.6, .noise = 0.1}, 2.5}),
        testing::Values(20.0, 33.3, 100.0, 422.0, 3'000.0)),
    name_of);

TEST(TrafficPeriodTest, StepsBeginWithTheirBursts) {
  Watched watched(3);
  watched.play({.step_ms = 200, .jitter = 0.05, .bursts = 3, .busy = 0.5, .fill = 0.4}, 200);
  watched.finish();
  ASSERT_GT(watched.steps.size(), 150U);
  std::int64_t end_ns = 0;
  std::int64_t number = 0;
  for (const Step& step : watched.steps) {
    const std::int64_t begin_ns = watched.traffic.begins_ns[watched.nearest(step.start_ns)];
    EXPECT_LT(std::abs(step.start_ns - begin_ns), 20'000'000);
    EXPECT_TRUE(end_ns == 0 || step.start_ns == end_ns);
    EXPECT_EQ(step.number, ++number);
    EXPECT_EQ(step.source, record::StepSource::Traffic);
    end_ns = step.end_ns;
  }
}

TEST(TrafficPeriodTest, MicroBatchesAreNotSteps) {
  Watched watched(5);
  watched.play({.step_ms = 1'000, .jitter = 0.03, .bursts = 8, .busy = 0.75, .fill = 0.5}, 60);
  ASSERT_TRUE(watched.newest);
  EXPECT_NEAR(watched.newest->period_ns / kNsPerMs, 1'000, 20);
}

// As tensor parallelism has them: there is no pause between steps, and as many bytes at any time.
TEST(TrafficPeriodTest, LayersOfTwoPassesAreNotSteps) {
  TrafficPeriod period;
  std::vector<Step> steps;
  std::int64_t now_ns = 5'000'000'000;
  std::int64_t sampled_ns = now_ns;
  const auto layers = [&](int count, std::int64_t every_ms) {
    for (int layer = 0; layer < count; ++layer, now_ns += every_ms * 1'000'000) {
      for (std::int64_t ms = 0; ms < 4; ++ms) period.add(now_ns + ms * 1'000'000, 400'000);
    }
  };
  for (int step = 0; step < 100; ++step) {
    layers(8, 14);
    layers(8, 22);
    if (now_ns - sampled_ns >= 2'000'000'000) {
      sampled_ns = now_ns;
      period.estimate(now_ns);
    }
  }
  period.report(kEnd, [&](const Step& step) { steps.push_back(step); });
  ASSERT_GT(steps.size(), 80U);
  const auto reported = static_cast<double>(steps.size());
  EXPECT_NEAR(
      static_cast<double>(steps.back().end_ns - steps.front().start_ns) / reported / kNsPerMs, 288,
      2.88);
}

TEST(TrafficPeriodTest, StallsAndBordersThatWereNotSeenDoNotChangeTheMean) {
  Watched watched(3);
  for (int part = 0; part < 20; ++part) {
    watched.play({.step_ms = 20, .jitter = 0.1}, 48);
    watched.play({.step_ms = 42}, 1);
    watched.play({.step_ms = 55}, 1);
  }
  watched.finish();
  double sum_ms = 0;
  std::int64_t reported = 0;
  for (const Step& step : watched.steps) {
    sum_ms += static_cast<double>(step.end_ns - step.start_ns) / kNsPerMs;
    reported += step.merged;
  }
  EXPECT_GT(reported, 900);
  EXPECT_NEAR(sum_ms / static_cast<double>(reported), watched.traffic.mean_ms(1'000), 0.2);
}

TEST(TrafficPeriodTest, BucketsOfLongStepsAreNotTold) {
  Watched watched(3);
  watched.play({.step_ms = 30'000, .bursts = 4, .busy = 0.6, .fill = 0.2}, 4);
  watched.finish();
  for (const Step& step : watched.steps) EXPECT_GT(step.end_ns - step.start_ns, 20'000'000'000);
}

TEST(TrafficPeriodTest, EpochsAreNotSteps) {
  Watched watched(5);
  watched.play({.step_ms = 100, .jitter = 0.03, .epoch_steps = 40, .pause = 4}, 600);
  watched.finish();
  ASSERT_TRUE(watched.newest);
  EXPECT_NEAR(watched.newest->period_ns / kNsPerMs, 100, 1.5);
  for (const Step& step : watched.steps) EXPECT_LT(step.end_ns - step.start_ns, 170'000'000);
}

TEST(TrafficPeriodTest, APauseIsNoStep) {
  Watched watched(5);
  for (int part = 0; part < 3; ++part) {
    watched.play({.step_ms = 100, .jitter = 0.03, .epoch_steps = 100, .pause = 100}, 100);
  }
  watched.finish();
  ASSERT_TRUE(watched.newest);
  EXPECT_NEAR(watched.newest->period_ns / kNsPerMs, 100, 1.5);
  for (const Step& step : watched.steps) EXPECT_LT(step.end_ns - step.start_ns, 170'000'000);
}

TEST(TrafficPeriodTest, AChangeIsFollowed) {
  Watched watched(5);
  watched.play({.step_ms = 150, .jitter = 0.03}, 150);
  EXPECT_NEAR(watched.newest->period_ns / kNsPerMs, 150, 2);
  watched.play({.step_ms = 240, .jitter = 0.03}, 40);
  ASSERT_TRUE(watched.newest);
  EXPECT_NEAR(watched.newest->period_ns / kNsPerMs, 240, 4);
}

TEST(TrafficPeriodTest, ALargeBroadcastBeforeIsForgotten) {
  Watched watched(5);
  watched.play({.step_ms = 3'000, .busy = 0.9}, 1);
  watched.play({.step_ms = 100, .jitter = 0.03}, 100);
  ASSERT_TRUE(watched.newest);
  EXPECT_NEAR(watched.newest->period_ns / kNsPerMs, 100, 1.5);
}

TEST(TrafficPeriodTest, ShortJobsTellTheirStepsAtTheEnd) {
  Watched watched(5);
  watched.play({.step_ms = 200, .jitter = 0.03}, 60);
  EXPECT_TRUE(watched.steps.empty());
  watched.finish();
  EXPECT_GT(watched.steps.size(), 40U);
}

class NoPeriod : public testing::TestWithParam<double> {};

TEST_P(NoPeriod, NothingIsSaid) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    Watched watched(seed);
    watched.play_random(GetParam(), GetParam() < 100 ? 30 : 300);
    watched.finish();
    EXPECT_EQ(watched.said, 0) << "seed " << seed;
    EXPECT_TRUE(watched.steps.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Mean, NoPeriod, testing::Values(3.0, 30.0, 300.0, 3'000.0));

TEST(TrafficPeriodTest, SteadyTrafficAndSilenceHaveNoPeriod) {
  TrafficPeriod period;
  EXPECT_FALSE(period.estimate(1'000'000'000));
  for (std::int64_t t_ns = 0; t_ns < 20'000'000'000; t_ns += 100'000) period.add(t_ns, 1'500);
  for (int sample = 0; sample < 9; ++sample) EXPECT_FALSE(period.estimate(20'000'000'000));
}

TEST(TrafficPeriodTest, TimesOutOfOrderAndFarApartAreBorne) {
  TrafficPeriod period;
  period.add(50'000'000'000, 10);
  period.add(10, 10);
  period.add(49'999'000'000, 10);
  period.add(std::numeric_limits<std::int64_t>::max() / 2, 10);
  EXPECT_FALSE(period.estimate(std::numeric_limits<std::int64_t>::max() / 2));
}

}  // namespace
}  // namespace chokepoint::capture::step
