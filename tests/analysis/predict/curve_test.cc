#include "analysis/predict/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::analysis {
namespace {

constexpr const char* kDocument = R"({"schema": "chokepoint.collective/1", "backend": "gloo",
  "collective": "all-reduce", "ranks": 2, "sizes": [
    {"bytes": 3000, "time_us": {"median": 4000, "count": 9}},
    {"bytes": 1000, "time_us": {"median": 2000}},
    {"bytes": 5000, "time_us": null}],
  "alpha_us": 1000, "beta_mbps": 8})";

TEST(Curve, ReadsTheDocumentOfTheContract) {
  const Curve curve = *parse_curve(kDocument, "c.json");
  EXPECT_EQ(curve.backend, "gloo");
  EXPECT_EQ(curve.ranks, 2);
  ASSERT_EQ(curve.points.size(), 2U);
  EXPECT_EQ(curve.points[0].bytes, 1000);
  EXPECT_EQ(curve.points[1].ms, 4);
}

TEST(Curve, StraightLinesBetweenSizes) {
  const Curve curve = *parse_curve(kDocument, "c.json");
  EXPECT_DOUBLE_EQ(time_ms(curve, 1000), 2);
  EXPECT_DOUBLE_EQ(time_ms(curve, 1500), 2.5);
  EXPECT_DOUBLE_EQ(time_ms(curve, 3000), 4);
}

TEST(Curve, LatencyBelowAndBandwidthAbove) {
  const Curve curve = *parse_curve(kDocument, "c.json");
  EXPECT_DOUBLE_EQ(time_ms(curve, 1), 2);
  EXPECT_DOUBLE_EQ(time_ms(curve, 6000), 8);
}

TEST(Curve, ByTheFitWhereThereAreNoSizes) {
  const Curve curve = *parse_curve(R"({"alpha_us": 1000, "beta_mbps": 8})", "c.json");
  EXPECT_DOUBLE_EQ(time_ms(curve, 2000), 3);  // 8 Mb/s are 1000 bytes a millisecond
}

TEST(Curve, SaysWhatItCannotUse) {
  for (const char* text :
       {"", "[]", "{", "{}", R"({"sizes": 3})", R"({"sizes": [1, {"bytes": 0}]})",
        R"({"collective": "broadcast", "beta_mbps": 8})", R"({"beta_mbps": -8})"}) {
    const Result<Curve> curve = parse_curve(text, "c.json");
    ASSERT_FALSE(curve) << text;
    EXPECT_THAT(describe(curve.error()), testing::HasSubstr("c.json"));
    EXPECT_FALSE(curve.error().next_step.empty());
  }
}

}  // namespace
}  // namespace chokepoint::analysis
