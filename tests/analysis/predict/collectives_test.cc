#include "analysis/predict/collectives.h"

#include <gtest/gtest.h>

#include <array>

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

TEST(Collectives, TheSlowestLinkOfARingSetsItsPace) {
  const std::array hops{Hop{0.1, 4000}, Hop{0.5, 2000}, Hop{0.2, 1000}, Hop{0.1, 4000}};
  EXPECT_DOUBLE_EQ(ring_ms(Collective::AllReduce, 8000, hops),
                   ring_ms(Collective::AllReduce, 8000, 4, kHop));
}

TEST(Collectives, ATreesLatencyGrowsWithTheLogarithm) {
  EXPECT_DOUBLE_EQ(tree_all_reduce_ms(0, 64, kHop), 2 * 6 * 0.5);
  EXPECT_DOUBLE_EQ(ring_ms(Collective::AllReduce, 0, 64, kHop), 2 * 63 * 0.5);
  EXPECT_DOUBLE_EQ(tree_all_reduce_ms(8000, 2, kHop),
                   ring_ms(Collective::AllReduce, 8000, 2, kHop));
}

TEST(Collectives, BandwidthsAsNcclTestsCountsThem) {
  EXPECT_DOUBLE_EQ(algorithm_mbps(1e9, 100), 80'000);
  EXPECT_DOUBLE_EQ(bus_mbps(Collective::AllReduce, 4, 1e9, 100), 120'000);
  EXPECT_DOUBLE_EQ(bus_mbps(Collective::AllGather, 4, 1e9, 100), 60'000);
  EXPECT_DOUBLE_EQ(bus_mbps(Collective::Broadcast, 4, 1e9, 100), 80'000);
}

}  // namespace
}  // namespace chokepoint::analysis
