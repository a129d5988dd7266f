#include "analysis/limits/packets.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace chokepoint::analysis {
namespace {

using record::FlowSample;

constexpr std::int64_t kBinNs = 10'000'000;

// What one bin of packets says, at an unloaded round trip of 0.1 ms.
std::optional<Limit> limit(FlowSample sample) {
  sample.t_ns = 5 * kBinNs;
  sample.bin_ns = kBinNs;
  if (!sample.payload_bytes.known()) {
    sample.payload_bytes = 1'000'000;
  }
  const auto spans = limits_of_packets({sample}, {.min_rtt_us = 100});
  if (spans.empty()) {
    return std::nullopt;
  }
  EXPECT_EQ(spans[0].span.start_ns, 4 * kBinNs);
  EXPECT_EQ(spans[0].span.end_ns, 5 * kBinNs);
  const auto& ns = spans[0].times.ns;
  EXPECT_DOUBLE_EQ(spans[0].times.sum(), kBinNs);
  return Limit(std::ranges::max_element(ns) - ns.begin());
}

TEST(LimitsOfPackets, TellWhatTheyCan) {
  EXPECT_EQ(limit({.rtt_us = 40'000, .max_in_flight_bytes = 900'000}), Limit::LinkFull);
  EXPECT_EQ(limit({.retransmitted_packets = 3, .rtt_us = 110, .max_in_flight_bytes = 90'000}),
            Limit::Loss);
  EXPECT_EQ(limit({.window_full = 2, .rtt_us = 110}), Limit::ReceiveWindow);
  EXPECT_EQ(limit({.rtt_us = 110, .max_in_flight_bytes = 64'000, .window_bytes = 65'535}),
            Limit::ReceiveWindow);
  EXPECT_EQ(limit({.rtt_us = 110, .max_in_flight_bytes = 500'000, .window_bytes = 4'000'000}),
            Limit::LibraryCredit);
  EXPECT_EQ(limit({.rtt_us = 110, .max_in_flight_bytes = 1'000}), Limit::RoundTrip);
}

TEST(LimitsOfPackets, ARoundTripThatIsAlwaysLongIsNoQueue) {
  const FlowSample sample{.t_ns = kBinNs,
                          .bin_ns = kBinNs,
                          .payload_bytes = 1'000'000,
                          .rtt_us = 40'000,
                          .min_rtt_us = 39'000,
                          .max_in_flight_bytes = 900'000};
  EXPECT_DOUBLE_EQ(limits_of_packets({sample}, {})[0].times[Limit::LibraryCredit], kBinNs);
  EXPECT_DOUBLE_EQ(limits_of_packets({sample}, {.min_rtt_us = 39'000})[0].times[Limit::LinkFull],
                   0);
}

TEST(LimitsOfPackets, KeepAlivesAndEmptyBinsAreNothingUnderWay) {
  EXPECT_EQ(limit({.payload_bytes = 20}), std::nullopt);
  EXPECT_EQ(limit({.payload_bytes = 0, .rtt_us = 40'000}), std::nullopt);
  EXPECT_TRUE(limits_of_packets({}, {}).empty());
  EXPECT_TRUE(limits_of_packets({FlowSample{}}, {}).empty());
}

}  // namespace
}  // namespace chokepoint::analysis
