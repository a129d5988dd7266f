#include "probe/commands/reports.h"

#include <gtest/gtest.h>

#include "base/json/codec.h"

namespace chokepoint::probe {
namespace {

using cli::Json;

TEST(Documents, WhatUdpDidNotMeasureIsNull) {
  const documents::ProbeUdp document = document_of(UdpMeasured{}, {udp::Outcome{}});
  EXPECT_FALSE(document.asked_mbps || document.search || document.clock_offset_ms);
  EXPECT_TRUE(document.by_direction.only);
}

TEST(Documents, PcieHasItsPairsOfGpus) {
  PcieShown shown{.measured = pcie::Measured{}};
  shown.measured->peers.push_back({.one = "0000:01:00.0",
                                   .other = "0000:02:00.0",
                                   .reachable = false,
                                   .staged = {.there_mbps = 8000}});
  const Json document = json::to_json(document_of(shown));
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
  const Json document = json::to_json(document_of(found));
  EXPECT_EQ(document["families"]["ipv4"]["symmetry"].dump(),
            R"({"why":"no reason","routers":[{"ttl":1,"forward":"10.0.0.1","reverse":null,)"
            R"("match":"unknown","why":""}]})");
}

}  // namespace
}  // namespace chokepoint::probe
