#include "probe/commands/latency_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/golden.h"
#include "tests/fakes/page.h"
#include "tests/fakes/page_rows.h"

namespace chokepoint::probe {
namespace {

latency::Spread spread_around(double median_ms, std::uint64_t answered, std::uint64_t sent) {
  return {.trips = documents::RoundTrips{.min = median_ms / 2,
                                         .median = median_ms,
                                         .p90 = median_ms * 2,
                                         .p99 = median_ms * 3,
                                         .max = median_ms * 4,
                                         .mean = median_ms,
                                         .count = answered},
          .sent = sent};
}

// Idle, and loaded towards the peer; UDP loses one in a hundred under load.
LatencyMeasured loaded_line() {
  LatencyMeasured measured{
      .document = {.udp = documents::LatencyOverUdp()},
      .idle = {.tcp = spread_around(1, 100, 100), .udp = spread_around(0.8, 100, 100)}};
  latency::Loaded& send = measured.send.emplace();
  send.tcp = spread_around(50, 100, 100);
  send.udp = spread_around(40, 99, 100);
  send.send_mbps = 94;
  send.figures = {
      .loaded_ms = send.tcp.trips,
      .bufferbloat_ms = 49,
      .rpm = 600,
      .responsiveness = documents::Responsiveness{.rpm = 600,
                                                  .confidence = documents::Confidence::High,
                                                  .tcp_ms = 51,
                                                  .handshake_ms = 52,
                                                  .request_ms = 53,
                                                  .self_ms = 150,
                                                  .self_path_ms = 50,
                                                  .self_buffer_ms = 100,
                                                  .foreign_probes = 100,
                                                  .self_probes = 100},
      .bloat = documents::Bloat::Much};
  return measured;
}

std::string page_of_latency(LatencyMeasured measured) {
  add_figures(measured);
  return fakes::page_of([&](const cli::Context& context) { print_page(context, measured); });
}

TEST(LatencyPage, Picture) { EXPECT_GOLDEN("probe_latency", page_of_latency(loaded_line())); }

TEST(LatencyPage, WhatWasNotMeasuredIsADash) {
  LatencyMeasured measured = loaded_line();
  measured.send->tcp = {.sent = 7};
  measured.send->figures.responsiveness = documents::Responsiveness();
  const std::string page = page_of_latency(measured);
  EXPECT_THAT(fakes::cells(page, "load to the peer, TCP"),
              testing::ElementsAre("-", "-", "-", "-", "-", "7"));
  EXPECT_EQ(fakes::cells(page, "load to the peer"), std::vector<std::string>(7, "-"));
}

TEST(LatencyPage, WithoutUdpItsRowsAreLeftOut) {
  LatencyMeasured measured = loaded_line();
  measured.document.udp.reset();
  measured.document.udp_problem = "port 5201 is closed";
  const std::string page = page_of_latency(measured);
  EXPECT_FALSE(fakes::row(page, "idle, UDP"));
  EXPECT_EQ(fakes::row(page, "without UDP:"), "port 5201 is closed.");
}

TEST(LatencyPage, WithoutLoadThereIsNoResponsiveness) {
  LatencyMeasured measured = loaded_line();
  measured.send.reset();
  EXPECT_FALSE(fakes::row(page_of_latency(measured), "responsiveness"));
}

}  // namespace
}  // namespace chokepoint::probe
