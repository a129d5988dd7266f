#include "analysis/predict/exchange_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/documents/collective.h"
#include "base/json/codec.h"
#include "tests/analysis/predict/golden_figures.h"

namespace chokepoint::analysis {
namespace {

constexpr Hop kHop{.alpha_ms = 0.5, .bytes_per_ms = 1000};

TEST(Collectives, AllReduceIsItsTwoHalves) {
  const double whole = ring_ms(Collective::AllReduce, 8000, 4, kHop);
  EXPECT_DOUBLE_EQ(whole, 2 * 3 * 0.5 + 2 * 0.75 * 8);
  EXPECT_DOUBLE_EQ(whole, ring_ms(Collective::ReduceScatter, 8000, 4, kHop) +
                              ring_ms(Collective::AllGather, 8000, 4, kHop));
}

TEST(Collectives, TheOthers) {
  EXPECT_DOUBLE_EQ(ring_ms(Collective::Broadcast, 8000, 4, kHop), 3 * 0.5 + 8);
  EXPECT_DOUBLE_EQ(ring_ms(Collective::AllToAll, 8000, 4, kHop), 3 * 0.5 + 6);
  EXPECT_DOUBLE_EQ(ring_ms(Collective::SendReceive, 8000, 2, kHop), 0.5 + 8);
}

TEST(Collectives, OneRankAloneSendsNothing) {
  for (const auto collective : {Collective::AllReduce, Collective::AllGather, Collective::Broadcast,
                                Collective::SendReceive}) {
    EXPECT_EQ(ring_ms(collective, 8000, 1, kHop), 0);
  }
  EXPECT_EQ(tree_all_reduce_ms(8000, 1, kHop), 0);
}

TEST(Collectives, ATreesLatencyGrowsWithTheLogarithm) {
  EXPECT_DOUBLE_EQ(tree_all_reduce_ms(0, 64, kHop), 2 * 6 * 0.5);
  EXPECT_DOUBLE_EQ(ring_ms(Collective::AllReduce, 0, 64, kHop), 2 * 63 * 0.5);
  EXPECT_DOUBLE_EQ(tree_all_reduce_ms(8000, 2, kHop),
                   ring_ms(Collective::AllReduce, 8000, 2, kHop));
}

TEST(Collectives, BandwidthsAsNcclTestsCountsThem) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::AllReduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::AllGather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::Broadcast, 4), 1);
}

documents::CollectiveSize size_taking(std::uint64_t bytes, std::optional<double> us) {
  documents::CollectiveSize size{.bytes = bytes};
  if (us) {
    size.time_us = {.min = *us, .median = *us, .p99 = *us, .max = *us, .mean = *us, .count = 9};
  }
  return size;
}

std::string text_of(const documents::Collective& measured) {
  chokepoint::json::Json document = {{"schema", Fields<documents::Collective>::kSchema}};
  document.update(chokepoint::json::to_json(measured));
  return document.dump();
}

Curve measured_curve() {
  return *parse_curve(
      text_of({.backend = "gloo",
               .collective = "all-reduce",
               .ranks = 2,
               .sizes = {size_taking(3000, 4000), size_taking(1000, 2000), size_taking(5000, {})},
               .alpha_us = 1000,
               .beta_mbps = 8}),
      "c.json");
}

TEST(Curve, ReadsTheDocumentOfTheContract) {
  const Curve curve = measured_curve();
  EXPECT_EQ(curve.backend, "gloo");
  EXPECT_EQ(curve.ranks, 2);
  ASSERT_EQ(curve.points.size(), 2U);
  EXPECT_EQ(curve.points[0].bytes, 1000);
  EXPECT_EQ(curve.points[1].ms, 4);
}

TEST(Curve, StraightLinesBetweenSizes) {
  const Curve curve = measured_curve();
  EXPECT_DOUBLE_EQ(time_ms(curve, 1000), 2);
  EXPECT_DOUBLE_EQ(time_ms(curve, 1500), 2.5);
  EXPECT_DOUBLE_EQ(time_ms(curve, 3000), 4);
}

TEST(Curve, LatencyAndBandwidthBeyondTheSizes) {
  Curve curve = measured_curve();
  EXPECT_DOUBLE_EQ(time_ms(curve, 1), 1.001);  // the fit's latency, and a bandwidth up to 1000
  EXPECT_DOUBLE_EQ(time_ms(curve, 500), 1.5);
  EXPECT_DOUBLE_EQ(time_ms(curve, 6000), 7);  // 1000 bytes a millisecond, as the last two sizes
  curve.alpha_ms.reset();
  EXPECT_DOUBLE_EQ(time_ms(curve, 500), 1.5) << "the line through both sizes";
  curve.alpha_ms = 9;
  EXPECT_DOUBLE_EQ(time_ms(curve, 500), 2) << "no more than the smallest size takes";
}

TEST(Curve, OneSizeIsABandwidth) {
  const Curve curve{.ranks = 2, .points = {{.bytes = 1.416e9, .ms = 120}}};
  EXPECT_DOUBLE_EQ(time_ms(curve, 25 * kMiB), 120 * 25 * kMiB / 1.416e9);
  EXPECT_DOUBLE_EQ(time_ms(curve, 2.832e9), 240);
  EXPECT_DOUBLE_EQ(time_ms(curve, 1.416e9), 120);
}

// Two sizes of which the larger took no longer: a pause fell into the smaller one's time.
TEST(Curve, GoesOnWhereTheLargestSizeTookLessTime) {
  const Curve curve{.points = {{.bytes = 1000, .ms = 4}, {.bytes = 2000, .ms = 3}}};
  EXPECT_DOUBLE_EQ(time_ms(curve, 4000), 6);
  EXPECT_DOUBLE_EQ(time_ms(curve, 1), 4);
}

TEST(Curve, SaysWhatItDoesNotHave) {
  const Curve one{.points = {{.bytes = 1e9, .ms = 100}}};
  EXPECT_TRUE(judge_curve(one, 1e9, 1e9)->empty());
  EXPECT_THAT(judge_curve(one, 1e6, 1e9)->at(0), testing::HasSubstr("one size"));
  EXPECT_THAT(judge_curve(one, 1e9, 2e9)->at(0), testing::HasSubstr("go on at its bandwidth"));
  const Curve two = measured_curve();
  EXPECT_THAT(judge_curve(two, 1, 3000)->at(0), testing::HasSubstr("take 1.00 ms"));
  const auto far = judge_curve(two, 1000, 1e6);
  ASSERT_FALSE(far) << "300 times the largest size";
  EXPECT_EQ(far.error().kind, ErrorKind::Usage);
}

TEST(Curve, ByTheFitWhereThereAreNoSizes) {
  const Curve curve = *parse_curve(
      R"({"schema": "chokepoint.collective/1", "ranks": 2, "alpha_us": 1000, "beta_mbps": 8})",
      "c.json");
  EXPECT_DOUBLE_EQ(time_ms(curve, 2000), 3);  // 8 Mb/s are 1000 bytes a millisecond
}

TEST(Curve, SaysWhatItCannotUse) {
  const documents::Collective good{.ranks = 2, .beta_mbps = 8};
  const auto with = [&](auto change) {
    documents::Collective measured = good;
    change(measured);
    return text_of(measured);
  };
  ASSERT_TRUE(parse_curve(text_of(good), "c.json"));
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string(R"({"ranks": 2, "beta_mbps": 8})"),
        std::string(
            R"({"schema": "chokepoint.collective/1", "ranks": 2, "sizes": [{"bytes": 0}]})"),
        with([](auto& measured) { measured.beta_mbps = {}; }),
        with([](auto& measured) { measured.beta_mbps = -8; }),
        with([](auto& measured) { measured.collective = "broadcast"; }),
        with([](auto& measured) { measured.ranks = 1; }),
        with([](auto& measured) { measured.sizes = {size_taking(1'000'000'000, 0.1)}; })}) {
    const Result<Curve> curve = parse_curve(text, "c.json");
    ASSERT_FALSE(curve) << text;
    EXPECT_THAT(describe(curve.error()), testing::HasSubstr("c.json"));
    EXPECT_FALSE(curve.error().next_step.empty());
  }
}

TEST(GlooRing, CutsAsGlooDoes) {
  EXPECT_EQ(gloo_segments(1e6, 2).bytes, 250'000);  // at least two a rank
  EXPECT_EQ(gloo_segments(1e6, 2).count, 2);
  EXPECT_EQ(gloo_segments(64 * kMiB, 2).bytes, kMiB);
  EXPECT_EQ(gloo_segments(64 * kMiB, 2).count, 32);
  EXPECT_EQ(gloo_segments(7 * kMiB, 3).bytes, 7 * kMiB / 9);  // as many for each rank
  EXPECT_EQ(gloo_segments(7 * kMiB, 3).count, 6);
}

TEST(GlooRing, WithoutARoundTripItIsARing) {
  EXPECT_DOUBLE_EQ(gloo_ring_ms(64 * kMiB, 4, 0, 1000), 1.5 * 64 * kMiB / 1000);
}

// Each phase of the smallest cut has both its segments in flight at once.
TEST(GlooRing, ASmallTensorTakesTwoRoundTrips) {
  EXPECT_DOUBLE_EQ(gloo_ring_ms(1e6, 2, 15, 1e5), 2 * (15 + 2 * 2.5));
  EXPECT_NEAR(gloo_ring_ms(1000, 2, 15, 1e9), 30, 1e-3);
}

TEST(GlooRing, OverAWanCreditsDecide) {
  const double bytes = 256 * kMiB;
  const double ms = gloo_ring_ms(bytes, 2, 15, 1e9);
  EXPECT_NEAR(bytes * 8 / ms / 1000, gloo_credit_mbps(bytes, 2, 15), 1);
  EXPECT_NEAR(gloo_credit_mbps(bytes, 2, 15) / 8, 139.8, 0.1);  // MB/s, whatever the link
  EXPECT_NEAR(gloo_ring_ms(bytes, 2, 30, 1e9) / ms, 2, 1e-3);
}

// Medians of `probe collective` between two namespaces: rate, round trip, bytes, milliseconds.
TEST(GlooRing, APairOfSegmentsTakesARoundTripAndBoth) {
  struct Timed {
    double mbps;
    double rtt_ms;
    double mib;
    double ms;
  };
  for (const Timed& timed :
       {Timed{5000, 15, 64, 595.4}, Timed{5000, 15, 16, 149.4}, Timed{1000, 15, 16, 258.9},
        Timed{1000, 4, 16, 169.1}, Timed{1000, 40, 32, 918.6}, Timed{1000, 0, 64, 562.1}}) {
    const double told_ms =
        gloo_ring_ms(timed.mib * kMiB, 2, timed.rtt_ms, timed.mbps * 1448 / 1514 * 1000 / 8);
    EXPECT_NEAR(told_ms / timed.ms, 1, 0.03) << timed.mbps << " " << timed.rtt_ms;
  }
}

TEST(GlooRing, TheSlowerOfLinkAndLibraryHolds) {
  const auto ms_at = [](double rtt_ms) {
    Wire wire = wire_of({.path = {.rate_mbps = 100'000, .rtt_ms = rtt_ms}, .backend = "gloo"},
                        Outlook::Usual);
    wire.alpha_ms = rtt_ms / 2;
    wire.line_mbps = wire.rate_mbps = 6900;  // whatever the window
    return exchange_ms({.bytes = 64 * kMiB},
                       {.wire = wire, .ranks = {.count = 2}, .backend = "gloo"});
  };
  EXPECT_NEAR(ms_at(0.1), 64 * kMiB * 8 / 6.9e6, 0.01);
  EXPECT_NEAR(ms_at(15), 2 * 16 * 15 + 64 * kMiB * 8 / (100e6 * 1448 / 1538), 0.1);
}

TEST(GlooRing, OneRankAloneSendsNothing) { EXPECT_EQ(gloo_ring_ms(1e6, 1, 15, 1000), 0); }

}  // namespace

}  // namespace chokepoint::analysis
