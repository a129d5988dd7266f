#include "probe/commands/reports.h"

#include <gtest/gtest.h>

namespace chokepoint::probe {
namespace {

using cli::Json;

TEST(Documents, WhatUdpDidNotMeasureIsNull) {
  Json document;
  add_to(document, UdpMeasured{}, {udp::Outcome{}});
  for (const char* key : {"asked_mbps", "search", "clock_offset_ms", "loss_percent", "jitter_ms",
                          "one_way_delay_ms", "burst", "receive_buffer_bytes"}) {
    EXPECT_TRUE(document.at(key).is_null()) << key;
  }
  EXPECT_EQ(document["limit"], "nothing");
}

TEST(Documents, UdpShowsTheBytesOfABurst) {
  udp::Outcome outcome{.packet_bytes = 1000};
  outcome.burst = udp::Burst{.batch_packets = 2, .bucket_packets = 2.5, .hurried_ns = 3'000'000};
  Json document;
  add_to(document, UdpMeasured{}, {outcome});
  EXPECT_EQ(document["burst"].dump(),
            R"({"batch_packets":2,"batch_bytes":2000,"bucket_packets":2.5,"bucket_bytes":2500.0,)"
            R"("hurried_ms":3.0})");
}

TEST(Documents, BothDirectionsOfUdpHaveTheirNames) {
  Json document;
  add_to(document, UdpMeasured{.parameters = {.direction = udp::Direction::Both}},
         {{.direction = udp::Direction::Send}, {.direction = udp::Direction::Receive}});
  EXPECT_EQ(document["send"]["lost"], 0);
  EXPECT_EQ(document["receive"]["per_stream"], Json::array());
}

TEST(Documents, PcieHasItsPairsOfGpus) {
  PcieShown shown{.measured = pcie::Measured{}};
  shown.measured->peers.push_back({.one = "0000:01:00.0",
                                   .other = "0000:02:00.0",
                                   .reachable = false,
                                   .staged = {.there_mbps = 8000}});
  Json document;
  add_to(document, shown);
  EXPECT_EQ(document["peers"].dump(),
            R"([{"a":"0000:01:00.0","b":"0000:02:00.0","peer_access":false,)"
            R"("direct":{"a_to_b_mbps":null,"b_to_a_mbps":null,"both_ways_mbps":null},)"
            R"("through_host":{"a_to_b_mbps":8000.0,"b_to_a_mbps":null,"both_ways_mbps":null},)"
            R"("verified_bytes":0,"data_errors":[],"problems":[]}])");
}

TEST(Documents, PathHasTheRoutersOfBothWays) {
  PathFindings found;
  found.ipv4.symmetry = {.why = "no reason",
                         .routers = {{.ttl = 1, .forward = *net::Address::parse("10.0.0.1")}}};
  Json document;
  add_to(document, found);
  EXPECT_EQ(document["families"]["ipv4"]["symmetry"].dump(),
            R"({"why":"no reason","routers":[{"ttl":1,"forward":"10.0.0.1","reverse":null,)"
            R"("match":"unknown","why":""}]})");
}

}  // namespace
}  // namespace chokepoint::probe
