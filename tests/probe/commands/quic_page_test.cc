#include "probe/commands/quic_page.h"

#include <gtest/gtest.h>

#include "tests/fakes/golden.h"
#include "tests/fakes/page.h"
#include "tests/fakes/page_rows.h"

namespace chokepoint::probe {
namespace {

quic::Outcome whole_direction() {
  return {.direction = quic::Direction::Send,
          .figures = {
              .duration_s = 10,
              .throughput_mbps = 2950,
              .peak_mbps = 3050,
              .bytes = 3'687'500'000,
              .packets_sent = 2'600'000,
              .packets_received = 2'599'000,
              .lost = 1000,
              .loss_percent = 0.0385,
              .retransmits = 1003,
              .packet_bytes = 1427,
              .max_cwnd_bytes = 2'000'000,
              .rtt_ms =
                  math::Distribution{
                      .min = 1.1, .median = 2.5, .p99 = 6, .max = 9, .mean = 2.6, .count = 1000},
              .min_rtt_ms = 1,
              .ecn = {.sent_ect0 = 2'600'000, .received_ect0 = 2'598'900, .received_ce = 100},
              .packets_per_send_call = 40.5,
              .packets_per_receive_call = 21.2,
              .cpu = {.sender_percent = 98,
                      .receiver_percent = 75,
                      .sender_busy_percent = 100,
                      .receiver_busy_percent = 76,
                      .sender_percent_per_gbps = 33,
                      .receiver_percent_per_gbps = 25},
              .limited_by = documents::QuicShares{.processor = 0.9,
                                                  .flow_window = 0.01,
                                                  .congestion_window = 0.05,
                                                  .pacing = 0.02,
                                                  .send_buffer = 0.02},
              .limit = documents::QuicLimit::SenderCpu,
              .summary = "the CPU of voyager",
              .beside = documents::QuicBeside{
                  .tcp_mbps = 9400, .udp_mbps = 5200, .udp_loss_percent = 1.25}}};
}

std::string page_of_quic(const QuicMeasured& measured) {
  return fakes::page_of([&](const cli::Context& context) { print_page(context, measured); });
}

TEST(QuicPage, Picture) {
  EXPECT_GOLDEN("probe_quic", page_of_quic({.trial = {.times = {.handshake_ms = 3.2,
                                                                .resumption_ms = 1.4,
                                                                .early_data_accepted = true}},
                                            .directions = {whole_direction()}}));
}

// Another program's server reports nothing of its own.
TEST(QuicPage, WhatOnlyAForeignServerKnowsIsNotKnown) {
  QuicMeasured measured{.trial = {.is_foreign = true}, .directions = {{}}};
  const std::string page = page_of_quic(measured);
  for (const char* title : {"packets lost", "retransmitted", "marked by the path (ECN)",
                            "payload of a packet", "max congestion window", "round-trip time",
                            "TX utilization", "RX utilization", "the sender's time"}) {
    EXPECT_EQ(fakes::row(page, title), "not known") << title;
  }
}

TEST(QuicPage, WithoutATicketThereIsNoResumption) {
  const std::string page = page_of_quic({.trial = {.times = {.handshake_ms = 3.2}}});
  EXPECT_EQ(fakes::row(page, "Handshake"), "3.20 ms.");
}

TEST(QuicPage, AnInterruptedTestSaysSo) {
  const QuicMeasured measured{.trial = {.interrupted = true}, .directions = {whole_direction()}};
  EXPECT_EQ(fakes::labels_of(page_of_quic(measured)).back(), "Interrupted:");
}

}  // namespace
}  // namespace chokepoint::probe
