#include "analysis/predict/wire.h"

#include <gtest/gtest.h>

namespace chokepoint::analysis {
namespace {

Wire wide(std::optional<double> window_bytes, Outlook outlook = Outlook::Usual) {
  return wire_of(
      {.path = {.rate_mbps = 1000, .rtt_ms = 100, .window_bytes = window_bytes}, .backend = "nccl"},
      outlook);
}

TEST(Wire, AWindowFullPassesAtTheLinksRate) {
  const Wire wire = wide(1e6);
  EXPECT_NEAR(wire.rate_mbps, 80, 1e-9);
  EXPECT_EQ(wire.limited_by, "window");
  EXPECT_NEAR(bytes_per_ms(wire, 0.5e6) * 8 / 1000, 941.5, 0.1);
  EXPECT_NEAR(bytes_per_ms(wire, 1e6) * 8 / 1000, 941.5, 0.1);
  // Two windows: the second waits for a round trip.
  EXPECT_NEAR(2e6 / bytes_per_ms(wire, 2e6), 8.5 + 100, 0.1);
  EXPECT_NEAR(bytes_per_ms(wire, 1e12) * 8 / 1000, 80, 0.01);
}

TEST(Wire, WithoutBuffersLinuxsOwnCount) {
  EXPECT_NEAR(wide(std::nullopt).rate_mbps, 240, 1e-9);
  EXPECT_EQ(wide(std::nullopt, Outlook::Best).limited_by, "link");
  EXPECT_NEAR(wide(std::nullopt, Outlook::Worst).rate_mbps, 120, 1e-9);
}

TEST(Wire, FastLinksOfNcclAreRdma) {
  EXPECT_EQ(transport_of(Transport::Unknown, "nccl", 100e3), Transport::Rdma);
  EXPECT_EQ(transport_of(Transport::Unknown, "nccl", 25e3), Transport::Tcp);
  EXPECT_EQ(transport_of(Transport::Unknown, "gloo", 100e3), Transport::Tcp);
  EXPECT_EQ(transport_of(Transport::Tcp, "nccl", 100e3), Transport::Tcp);
}

// What a run measured has the library's share in it already.
TEST(Wire, AMeasuredPathIsTakenAsItIs) {
  const WireQuestion question{
      .path = {.rate_mbps = 100e3, .rtt_ms = 0.1}, .backend = "gloo", .is_measured = true};
  EXPECT_GT(wire_of(question, Outlook::Usual).rate_mbps, 90e3);
}

}  // namespace
}  // namespace chokepoint::analysis
