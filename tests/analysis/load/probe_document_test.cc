#include "analysis/load/probe_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::analysis {
namespace {

using testing::DoubleEq;
using testing::Optional;

std::optional<ProbeDocument> read(const char* document) {
  return read_probe({.kind = "tcp", .document = document});
}

TEST(ProbeDocument, TellsThePeerByWhatItCallsItself) {
  const auto document =
      read(R"({"peer":{"host":"voyager","name":"b","address":"::ffff:10.0.0.2"}})");
  ASSERT_TRUE(document && document->peer);
  EXPECT_EQ(document->peer->text(), "10.0.0.2");
  EXPECT_EQ(document->peer_name, "b");
  EXPECT_EQ(read(R"({"peer":{"host":"voyager"}})")->peer_name, "voyager");
}

TEST(ProbeDocument, KeepsTheWaysApart) {
  const auto one = read(R"({"direction":"receive","throughput_mbps":7})");
  EXPECT_FALSE(one->way(ProbeWay::Send).throughput_mbps);
  EXPECT_THAT(one->way(ProbeWay::Receive).throughput_mbps, Optional(7.0));
  const auto both = read(R"({"direction":"both","throughput_mbps":9,"send":{"throughput_mbps":1},
      "receive":{"throughput_mbps":2}})");
  EXPECT_THAT(both->way(ProbeWay::Send).throughput_mbps, Optional(1.0));
  EXPECT_THAT(both->way(ProbeWay::Receive).throughput_mbps, Optional(2.0));
}

TEST(ProbeDocument, CountsWhatTcpRetransmittedAsLost) {
  const auto document =
      read(R"({"direction":"send","retransmits":3,"mss_bytes":1000,"bytes":100000})");
  EXPECT_THAT(document->way(ProbeWay::Send).loss_percent, Optional(DoubleEq(3)));
}

TEST(ProbeDocument, TakesTheLeastRoundTripOfAll) {
  EXPECT_THAT(read(R"({"direction":"both","idle_ms":{"min":3},"send":{"rtt_ms":{"min":2}},
      "receive":{"rtt_ms":{"min":4}}})")
                  ->least_rtt_ms,
              Optional(2.0));
}

TEST(ProbeDocument, TakesTheRoundTripOfThePathsLastRouterIfItIsThePeer) {
  EXPECT_THAT(read(R"({"peer":{"address":"10.0.0.2"},"forward":[{"address":null,"rtt_ms":null},
      {"address":"10.0.0.2","rtt_ms":5}]})")
                  ->least_rtt_ms,
              Optional(5.0));
  EXPECT_FALSE(read(R"({"peer":{"address":"10.0.0.2"},"forward":[{"address":"10.0.0.1",
      "rtt_ms":5}]})")
                   ->least_rtt_ms);
}

TEST(ProbeDocument, WhatIsNullIsEmpty) {
  const auto document = read(R"({"direction":"both","peer":null,"idle_ms":null,"forward":null,
      "loaded_send_ms":{"median":null},"send":null,"receive":{"throughput_mbps":null}})");
  ASSERT_TRUE(document);
  EXPECT_FALSE(document->least_rtt_ms);
  EXPECT_FALSE(document->way(ProbeWay::Receive).throughput_mbps);
}

TEST(ProbeDocument, AValueThatMakesNoSenseIsEmpty) {
  for (const char* text :
       {R"({"peer":7})", R"({"peer":{"address":7}})", R"({"direction":["send"]})",
        R"({"direction":"send","throughput_mbps":-1})", R"({"idle_ms":{"min":"3"}})",
        R"({"direction":"send","rtt_ms":[1]})", R"({"forward":{}})", R"({"forward":[3]})",
        R"({"direction":"both","send":{"bytes":true}})"}) {
    const auto document = read(text);
    ASSERT_TRUE(document) << text;
    EXPECT_FALSE(document->least_rtt_ms) << text;
    EXPECT_FALSE(document->way(ProbeWay::Send).throughput_mbps) << text;
    EXPECT_FALSE(document->way(ProbeWay::Send).loaded_rtt_ms) << text;
  }
  const auto other = read(R"({"direction":"send","throughput_mbps":-1,"rtt_ms":{"median":2}})");
  EXPECT_FALSE(other->way(ProbeWay::Send).throughput_mbps);
  EXPECT_THAT(other->way(ProbeWay::Send).loaded_rtt_ms, Optional(2.0));
}

TEST(ProbeDocument, IsNothingOfWhatIsNoObject) {
  for (const char* document : {"", "[", "[]", "null", "1", "\"x\""}) {
    EXPECT_FALSE(read(document)) << document;
  }
  EXPECT_TRUE(read("{}"));
}

TEST(ProbeDocument, IsNothingOfWhatIsNestedTooDeeply) {
  constexpr std::size_t kDepth = 300'000;
  const std::string lists = std::string(kDepth, '[') + std::string(kDepth, ']');
  EXPECT_FALSE(read(("{\"peer\":" + lists + "}").c_str()));
}

}  // namespace
}  // namespace chokepoint::analysis
