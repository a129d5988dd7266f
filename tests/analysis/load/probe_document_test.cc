#include "analysis/load/probe_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/documents/probe_quic.h"
#include "tests/analysis/made_probe.h"

namespace chokepoint::analysis {
namespace {

using testing::DoubleEq;
using testing::Optional;

std::optional<ProbeDocument> read(const std::string& document) {
  return read_probe({.kind = "tcp", .document = document});
}

template <documents::Document T>
ProbeDocument reading_of(const T& document) {
  return read(fakes::printed_text(document)).value();
}

TEST(ProbeDocument, TellsThePeerByWhatItCallsItself) {
  documents::ProbeLatency measured{
      .peer = {.host = "voyager", .address = "::ffff:10.0.0.2", .name = "b"}};
  const ProbeDocument document = reading_of(measured);
  ASSERT_TRUE(document.peer);
  EXPECT_EQ(document.peer->text(), "10.0.0.2");
  EXPECT_EQ(document.peer_name, "b");
  measured.peer.name = "";
  EXPECT_EQ(reading_of(measured).peer_name, "voyager");
}

TEST(ProbeDocument, KeepsTheWaysApart) {
  const auto one = read(made_tcp(documents::Direction::Receive, "10.0.0.2", 7));
  EXPECT_FALSE(one->direction(ProbeDirection::Send).throughput_mbps);
  EXPECT_THAT(one->direction(ProbeDirection::Receive).throughput_mbps, Optional(7.0));
  const auto both = read(made_tcp_both("10.0.0.2", 1, 2));
  EXPECT_THAT(both->direction(ProbeDirection::Send).throughput_mbps, Optional(1.0));
  EXPECT_THAT(both->direction(ProbeDirection::Receive).throughput_mbps, Optional(2.0));
}

TEST(ProbeDocument, CountsWhatTcpRetransmittedAsLost) {
  const documents::TcpFigures figures{.mss_bytes = 1000, .bytes = 100'000, .retransmits = 3};
  const ProbeDocument document = reading_of(documents::ProbeTcp{.by_direction = {.only = figures}});
  EXPECT_THAT(document.direction(ProbeDirection::Send).loss_percent, Optional(DoubleEq(3)));
}

TEST(ProbeDocument, TakesTheLeastRoundTripOfAll) {
  const auto way = [](double min_ms) {
    return documents::QuicFigures{.rtt_ms =
                                      math::Distribution{.min = min_ms, .median = 9, .count = 1}};
  };
  const ProbeDocument document =
      reading_of(documents::ProbeQuic{.direction = documents::Direction::Both,
                                      .by_direction = {.send = way(2), .receive = way(4)}});
  EXPECT_THAT(document.least_rtt_ms, Optional(2.0));
  EXPECT_THAT(document.direction(ProbeDirection::Receive).loaded_rtt_ms, Optional(9.0));
}

TEST(ProbeDocument, TakesTheRoundTripOfThePathsLastRouterIfItIsThePeer) {
  EXPECT_THAT(read(made_path("10.0.0.2", 5))->least_rtt_ms, Optional(5.0));
  EXPECT_FALSE(read(made_path("10.0.0.1", 5))->least_rtt_ms);
  EXPECT_FALSE(read(made_path({}, 5))->least_rtt_ms);
}

TEST(ProbeDocument, WhatIsNotKnownIsEmpty) {
  const ProbeDocument document = reading_of(documents::ProbeLatency{});
  EXPECT_FALSE(document.least_rtt_ms);
  EXPECT_FALSE(document.direction(ProbeDirection::Send).loaded_rtt_ms);
  EXPECT_FALSE(document.direction(ProbeDirection::Receive).throughput_mbps);
}

TEST(ProbeDocument, IsNothingWhereAValueInItMakesNoSense) {
  json::Json odd =
      fakes::printed(documents::ProbeTcp{.by_direction = {.only = documents::TcpFigures{}}});
  ASSERT_TRUE(read(odd.dump()));
  odd["throughput_mbps"] = -1;
  EXPECT_FALSE(read(odd.dump()));
  odd["throughput_mbps"] = "fast";
  EXPECT_FALSE(read(odd.dump()));
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
  EXPECT_FALSE(read("{\"peer\":" + lists + "}"));
}

}  // namespace
}  // namespace chokepoint::analysis
