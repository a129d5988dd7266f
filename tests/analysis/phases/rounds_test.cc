#include "analysis/phases/rounds.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace chokepoint::analysis {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr double kTensors = 4e6;

// Steps of 100 ms, and 40 ms more for each kTensors that are exchanged.
std::vector<StepUnit> steps_of(std::size_t count,
                               const std::function<double(std::size_t)>& bytes_of) {
  std::vector<StepUnit> units;
  std::int64_t now_ns = 0;
  for (std::size_t step = 0; step < count; ++step) {
    const double bytes = bytes_of(step);
    const auto length_ns = static_cast<std::int64_t>((100 + 40 * bytes / kTensors) * kMs);
    units.push_back({.first = static_cast<std::int64_t>(step),
                     .span = {now_ns, now_ns + length_ns},
                     .bytes = bytes});
    now_ns += length_ns;
  }
  return units;
}

std::vector<StepUnit> each(std::size_t every, std::size_t count) {
  return steps_of(count,
                  [=](std::size_t step) { return step % every == every - 1 ? kTensors : 0; });
}

TEST(FindRounds, OfEveryLength) {
  for (const std::size_t every : {2U, 4U, 20U, 100U}) {
    const auto rounds = find_rounds(each(every, 6 * every));
    ASSERT_TRUE(rounds) << every;
    EXPECT_EQ(rounds->every, static_cast<std::int64_t>(every));
    EXPECT_EQ(rounds->syncs.size(), 6U);
    EXPECT_NEAR(rounds->inner_ns, 100 * kMs, 1);
    EXPECT_NEAR(rounds->syncs[0].extra_ns, 40 * kMs, 1);
  }
}

TEST(FindRounds, NoneWhereMostStepsExchange) {
  EXPECT_FALSE(find_rounds(each(1, 60)));
  EXPECT_FALSE(find_rounds({}));
  EXPECT_FALSE(find_rounds(steps_of(60, [](std::size_t) { return 0.0; })));
  EXPECT_FALSE(find_rounds(each(20, 40))) << "two exchanges are no rhythm";
}

TEST(FindRounds, NoneWhereStepsExchangeNowAndThen) {
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same each time
  EXPECT_FALSE(
      find_rounds(steps_of(200, [&](std::size_t) { return random() % 7 == 0 ? kTensors : 0.0; })));
}

TEST(FindRounds, NoneOfChangingSizes) {
  EXPECT_FALSE(find_rounds(steps_of(100, [](std::size_t step) {
    return step % 10 == 0 ? kTensors : step % 10 == 5 ? 3 * kTensors : 0.0;
  })));
}

TEST(FindRounds, BesideALossThatIsAveragedInEachStep) {
  const auto rounds =
      find_rounds(steps_of(60, [](std::size_t step) { return step % 5 == 0 ? kTensors : 1000.0; }));
  ASSERT_TRUE(rounds);
  EXPECT_EQ(rounds->every, 5);
}

TEST(FindRounds, BesideLongStepsAndACheckpoint) {
  std::vector<StepUnit> units = each(8, 80);
  units[12].span.end_ns += 107'000 * kMs;
  for (std::size_t later = 13; later < units.size(); ++later) {
    units[later].span.start_ns += 107'000 * kMs;
    units[later].span.end_ns += 107'000 * kMs;
  }
  units[36].bytes = 10 * kTensors;
  const auto rounds = find_rounds(units);
  ASSERT_TRUE(rounds);
  EXPECT_EQ(rounds->every, 8);
  EXPECT_EQ(rounds->syncs.size(), 10U);
  EXPECT_NEAR(rounds->inner_ns, 100 * kMs, 1);
}

TEST(FindRounds, OfATransferThatGoesOnOverSteps) {
  const auto rounds = find_rounds(
      steps_of(100, [](std::size_t step) { return step % 10 >= 8 ? kTensors / 2 : 0.0; }));
  ASSERT_TRUE(rounds);
  EXPECT_EQ(rounds->every, 10);
  EXPECT_EQ(rounds->syncs[0].units, 2U);
  EXPECT_NEAR(rounds->syncs[0].bytes, kTensors, 1);
  EXPECT_NEAR(rounds->syncs[0].extra_ns, 40 * kMs, 1);
}

TEST(FindRounds, AcrossStepsThatWereNotRead) {
  std::vector<StepUnit> units = each(6, 90);
  for (std::size_t step = 30; step < 47; ++step) {
    units[step].is_read = false;
    units[step].bytes = 0;
  }
  const auto rounds = find_rounds(units);
  ASSERT_TRUE(rounds);
  EXPECT_EQ(rounds->every, 6);
}

TEST(FindRounds, OfRowsThatStandForSeveralSteps) {
  std::vector<StepUnit> units = each(10, 80);
  for (std::size_t row = 0; row < units.size(); ++row) {
    units[row].first = static_cast<std::int64_t>(10 * row);
    units[row].steps = 10;
  }
  const auto rounds = find_rounds(units);
  ASSERT_TRUE(rounds);
  EXPECT_EQ(rounds->every, 100);
  EXPECT_NEAR(rounds->inner_ns, 10 * kMs, 1);
}

}  // namespace
}  // namespace chokepoint::analysis
