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

TEST(Wire, WhatNcclMakesOfAnRdmaLinkIsTheLibrarysLimit) {
  const WireQuestion question{.path = {.rate_mbps = 200e3}, .backend = "nccl"};
  EXPECT_EQ(wire_of(question, Outlook::Usual).limited_by, "library");
  EXPECT_LT(wire_of(question, Outlook::Usual).rate_mbps, 200e3);
}

TEST(Wire, RemoteCallsGoByTcpHoweverFastTheLink) {
  EXPECT_EQ(transport_of(Transport::Unknown, kTensorPipe, 400e3), Transport::Tcp);
}

TEST(Wire, AMeasuredThroughputIsTakenAsItIs) {
  const Wire wire =
      wire_of({.path = {.payload_mbps = 30e3, .rtt_ms = 10}, .backend = "nccl"}, Outlook::Worst);
  EXPECT_EQ(wire.rate_mbps, 30e3) << "neither the window nor the library holds it down again";
  EXPECT_EQ(wire.limited_by, "throughput");
  EXPECT_EQ(wire.transport, Transport::Tcp);
}

// What a run measured has the library's share in it already.
TEST(Wire, AMeasuredPathIsTakenAsItIs) {
  const WireQuestion question{
      .path = {.rate_mbps = 100e3, .rtt_ms = 0.1}, .backend = "gloo", .is_measured = true};
  EXPECT_GT(wire_of(question, Outlook::Usual).rate_mbps, 90e3);
}

TEST(TcpLimits, TheLeastCounts) {
  PathProfile path{.rate_mbps = 1000};
  EXPECT_NEAR(tcp_limit(path, Congestion::Cubic)->rate_mbps, 941.5, 0.1);
  EXPECT_STREQ(tcp_limit(path, Congestion::Cubic)->what, "link");
  path.rtt_ms = 15;
  path.window_bytes = 150'000;
  EXPECT_NEAR(tcp_limit(path, Congestion::Cubic)->rate_mbps, 80, 1e-9);
  EXPECT_STREQ(tcp_limit(path, Congestion::Cubic)->what, "window");
  path.loss = 0.005;
  EXPECT_NEAR(tcp_limit(path, Congestion::Cubic)->rate_mbps, 13.4, 0.1);
  EXPECT_STREQ(tcp_limit(path, Congestion::Cubic)->what, "loss");
  EXPECT_LT(tcp_limit(path, Congestion::Reno)->rate_mbps,
            tcp_limit(path, Congestion::Cubic)->rate_mbps);
  EXPECT_STREQ(tcp_limit(path, Congestion::Bbr)->what, "window");
}

TEST(TcpLimits, NothingIsKnownOfAnUnknownPath) {
  EXPECT_FALSE(tcp_limit({}, Congestion::Cubic));
  EXPECT_FALSE(tcp_limit({.loss = 0.1, .window_bytes = 1000}, Congestion::Cubic));
}

}  // namespace

}  // namespace chokepoint::analysis
