#include "probe/commands/udp_page.h"

#include <gtest/gtest.h>

#include "tests/fakes/golden.h"
#include "tests/fakes/page.h"
#include "tests/fakes/page_rows.h"

namespace chokepoint::probe {
namespace {

// A search that ended at 940 Mb/s, with clocks known to 20 µs.
UdpMeasured searched_rate() {
  return {.plan = {.packet_bytes = 1472, .bits_per_s = 940e6},
          .searched = true,
          .trials = 9,
          .obstacle = udp::Trial{.bits_per_s = 960e6,
                                 .offered_bits_per_s = 960e6,
                                 .delivered_bits_per_s = 940e6,
                                 .loss = 0.02},
          .clock = udp::ClockOffset{
              .offset_ns = 1'500'000, .uncertainty_ns = 20'000, .round_trip_ns = 40'000}};
}

udp::Outcome lossy_direction() {
  return {
      .direction = udp::Direction::Send,
      .figures = {
          .duration_s = 10,
          .throughput_mbps = 938,
          .offered_mbps = 940,
          .bytes = 1'172'500'000,
          .packets_sent = 798'234,
          .packets_received = 796'535,
          .lost = 1699,
          .loss_percent = 0.2128,
          .lost_in_receiver_queue = 12,
          .dropped_by_sender_queue = 3,
          .out_of_order = 4,
          .duplicates = 5,
          .jitter_ms = 0.021,
          .one_way_delay_ms =
              math::Distribution{
                  .min = 0.1, .median = 0.2, .p99 = 0.9, .max = 1.5, .mean = 0.3, .count = 796'535},
          .burst = documents::UdpBurst{.batch_packets = 8,
                                       .batch_bytes = 11'776,
                                       .bucket_packets = 12,
                                       .bucket_bytes = 17'664},
          .limit = documents::UdpLimit::Path,
          .summary = "the path carried 938 Mb/s"}};
}

std::string page_of_udp(const UdpMeasured& measured, const std::vector<udp::Outcome>& directions) {
  return fakes::page_of(
      [&](const cli::Context& context) { print_page(context, measured, directions); });
}

TEST(UdpPage, Picture) {
  udp::Outcome back = lossy_direction();
  back.direction = udp::Direction::Receive;
  EXPECT_GOLDEN("probe_udp", page_of_udp(searched_rate(), {lossy_direction(), back}));
}

// Another program at the peer counts only what came and what was lost.
TEST(UdpPage, WhatAForeignPeerLeavesOutIsNotMeasured) {
  const udp::Outcome told{.figures = {.throughput_mbps = 938, .lost = 7, .loss_percent = 0.5}};
  const std::string page = page_of_udp({}, {told});
  EXPECT_EQ(fakes::row(page, "lost"), "7 (0.5000 %)");
  EXPECT_EQ(fakes::row(page, "jitter"), "not measured");
  EXPECT_EQ(fakes::row(page, "one-way delay"), "not measured");
  EXPECT_EQ(fakes::row(page, "largest burst"), "not paced");
}

TEST(UdpPage, ADelayBelowTheClocksUncertaintyIsNoFigure) {
  udp::Outcome outcome = lossy_direction();
  outcome.figures.one_way_delay_ms.reset();
  const auto told = fakes::row(page_of_udp(searched_rate(), {outcome}), "one-way delay");
  ASSERT_TRUE(told);
  EXPECT_EQ(told->find_first_of("0123456789"), std::string::npos) << *told;
}

TEST(UdpPage, ATrialIsCalledOne) {
  UdpMeasured measured = searched_rate();
  const auto lines = fakes::labels_of(page_of_udp(measured, {lossy_direction()})).size();
  measured.only_trials = true;
  EXPECT_EQ(fakes::labels_of(page_of_udp(measured, {lossy_direction()})).size(), lines + 1);
  measured.result.interrupted = true;
  EXPECT_EQ(fakes::labels_of(page_of_udp(measured, {lossy_direction()})).back(), "Interrupted:");
}

TEST(UdpPage, WhatUdpDidNotMeasureIsNull) {
  const documents::ProbeUdp document = document_of(UdpMeasured{}, {udp::Outcome{}});
  EXPECT_FALSE(document.asked_mbps || document.search || document.clock_offset_ms);
  EXPECT_TRUE(document.by_direction.only);
}

}  // namespace
}  // namespace chokepoint::probe
