#include "analysis/timeline/spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::analysis {
namespace {

std::vector<std::pair<std::int64_t, std::int64_t>> pairs_of(const Spans& spans) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
  for (const Span& span : spans) {
    pairs.emplace_back(span.start_ns, span.end_ns);
  }
  return pairs;
}

using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

TEST(United, SortsAndJoinsWhatTouches) {
  EXPECT_EQ(pairs_of(united({{50, 60}, {0, 10}, {10, 20}, {15, 30}})), (Pairs{{0, 30}, {50, 60}}));
}

TEST(United, KeepsALongOneAroundShortOnes) {
  EXPECT_EQ(pairs_of(united({{0, 100}, {10, 20}, {30, 40}, {90, 95}})), (Pairs{{0, 100}}));
}

TEST(United, LeavesOutWhatIsEmptyOrTurnedRound) {
  EXPECT_EQ(pairs_of(united({{5, 5}, {30, 20}, {7, 8}})), (Pairs{{7, 8}}));
  EXPECT_TRUE(united({}).empty());
}

TEST(Without, KeepsWhatTheOthersDoNotCover) {
  const Spans set{{0, 10}, {20, 30}, {40, 50}};
  EXPECT_EQ(pairs_of(without(set, Spans{{5, 25}, {42, 44}, {46, 60}})),
            (Pairs{{0, 5}, {25, 30}, {40, 42}, {44, 46}}));
  EXPECT_EQ(pairs_of(without(set, Spans{{0, 100}})), Pairs{});
  EXPECT_EQ(pairs_of(without(set, {})), pairs_of(set));
}

TEST(CommonTo, KeepsWhatLiesInBoth) {
  const Spans one{{0, 10}, {20, 30}, {40, 50}};
  const Spans other{{5, 25}, {28, 45}};
  const Pairs both{{5, 10}, {20, 25}, {28, 30}, {40, 45}};
  EXPECT_EQ(pairs_of(common_to(one, other)), both);
  EXPECT_EQ(pairs_of(common_to(other, one)), both);
}

TEST(CommonTo, IsNothingWhereTheyOnlyTouchOrOneIsEmpty) {
  EXPECT_TRUE(common_to(Spans{{0, 10}}, Spans{{10, 20}}).empty());
  EXPECT_TRUE(common_to(Spans{{0, 10}}, Spans{}).empty());
}

TEST(Touching, IsThePartOfTheSetThatASpanMeets) {
  const Spans spans{{0, 10}, {20, 30}, {40, 50}};
  EXPECT_EQ(touching(spans, {10, 20}).size(), 0U);
  EXPECT_EQ(touching(spans, {9, 20}).size(), 1U);
  EXPECT_EQ(touching(spans, {9, 21}).size(), 2U);
  EXPECT_EQ(touching(spans, {25, 100}).size(), 2U);
  EXPECT_EQ(touching(spans, {25, 25}).size(), 0U);
  EXPECT_EQ(touching(spans, {45, 5}).size(), 0U);
}

TEST(Covered, AddsUpThePartsInside) {
  const Spans spans{{0, 10}, {20, 30}, {40, 50}};
  EXPECT_EQ(covered_ns(spans, {5, 45}), 5 + 10 + 5);
  EXPECT_EQ(covered_ns(spans, {22, 25}), 3);
  EXPECT_EQ(covered_ns(spans, {-100, 100}), length_ns(spans));
}

TEST(Covered, IsNothingBetweenThem) {
  const Spans spans{{0, 10}, {20, 30}};
  EXPECT_EQ(covered_ns(spans, {10, 20}), 0);
  EXPECT_EQ(covered_ns(spans, {30, 40}), 0);
  EXPECT_EQ(covered_ns({}, {0, 10}), 0);
}

TEST(Covered, IsNothingOfASpanTurnedRound) { EXPECT_EQ(covered_ns(Spans{{0, 100}}, {50, 20}), 0); }

}  // namespace
}  // namespace chokepoint::analysis
