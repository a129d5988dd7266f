#include "probe/udp/exchange.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace chokepoint::probe::udp {
namespace {

TEST(OffsetFilter, ASymmetricPathGivesTheOffset) {
  OffsetFilter filter;
  filter.add(1'000, {.received_ns = 501'100, .answered_ns = 501'150}, 1'250);
  ASSERT_TRUE(filter.best());
  EXPECT_EQ(filter.best()->round_trip_ns, 200);
  EXPECT_EQ(filter.best()->offset_ns, 500'000);
  EXPECT_EQ(filter.best()->turned().offset_ns, -500'000);
}

TEST(OffsetFilter, TheTruthLiesWithinTheUncertaintyHoweverLopsidedThePath) {
  std::mt19937 random(1);
  constexpr std::int64_t kTruth = -123'456'789'000;
  OffsetFilter filter;
  for (int i = 0; i < 200; ++i) {
    const std::int64_t asked = i * 1'000'000;
    const std::int64_t received = asked + 20'000 + random() % 500'000 + kTruth;
    const std::int64_t answered = received + random() % 50'000;
    const std::int64_t back = answered - kTruth + 70'000 + random() % 500'000;
    filter.add(asked, {.received_ns = received, .answered_ns = answered}, back);
    ASSERT_LE(std::llabs(filter.best()->offset_ns - kTruth), filter.best()->uncertainty_ns);
  }
  EXPECT_LT(filter.best()->round_trip_ns, 300'000) << "the fastest of many was kept";
}

TEST(OffsetFilter, TimesThatCannotBeAreNotTaken) {
  OffsetFilter filter;
  filter.add(1'000, {.received_ns = 600, .answered_ns = 500}, 2'000);
  filter.add(2'000, {.received_ns = 500, .answered_ns = 600}, 1'000);
  filter.add(0,
             {.received_ns = std::numeric_limits<std::int64_t>::min(),
              .answered_ns = std::numeric_limits<std::int64_t>::max()},
             100);
  EXPECT_FALSE(filter.best());
}

TEST(Combined, ClocksThatRanApartAreLessCertain) {
  const ClockOffset before{.offset_ns = 1'000, .uncertainty_ns = 100, .round_trip_ns = 200};
  const ClockOffset near{.offset_ns = 1'150, .uncertainty_ns = 80, .round_trip_ns = 160};
  const ClockOffset far{.offset_ns = 9'000, .uncertainty_ns = 80, .round_trip_ns = 160};
  EXPECT_EQ(combined(before, near)->uncertainty_ns, 80);
  EXPECT_EQ(combined(before, far)->uncertainty_ns, 8'080);
  EXPECT_FALSE(combined(before, std::nullopt));
}

}  // namespace
}  // namespace chokepoint::probe::udp
