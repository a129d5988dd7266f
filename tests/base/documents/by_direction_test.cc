// The document of a test that goes one way, or both: with probe.tcp's.
#include "base/documents/by_direction.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/documents/document.h"
#include "base/documents/probe_tcp.h"

namespace chokepoint::documents {
namespace {

Json printed(const ProbeTcp& document) {
  Json whole{{"schema", Fields<ProbeTcp>::kSchema}};
  whole.update(json::to_json(document));
  return whole;
}

TEST(ByDirection, OneWayStandsAtTheTop) {
  ProbeTcp document{.direction = Direction::Receive};
  document.by_direction.set(document.direction, Direction::Receive, {.throughput_mbps = 7});
  const Json json = printed(document);
  EXPECT_EQ(json["throughput_mbps"], 7);
  EXPECT_FALSE(json.contains("send") || json.contains("receive"));
  const ProbeTcp read = documents::read<ProbeTcp>(json).value();
  EXPECT_EQ(read.by_direction.find(read.direction, Direction::Receive)->throughput_mbps, 7);
  EXPECT_EQ(read.by_direction.find(read.direction, Direction::Send), nullptr);
}

TEST(ByDirection, BothHaveTheirNames) {
  ProbeTcp document{.direction = Direction::Both};
  document.by_direction.set(document.direction, Direction::Send, {.throughput_mbps = 7});
  document.by_direction.set(document.direction, Direction::Receive, {.throughput_mbps = 8});
  const Json json = printed(document);
  EXPECT_EQ(json["send"]["throughput_mbps"], 7);
  EXPECT_EQ(json["receive"]["throughput_mbps"], 8);
  EXPECT_FALSE(json.contains("throughput_mbps"));
  const ProbeTcp read = documents::read<ProbeTcp>(json).value();
  EXPECT_EQ(read.by_direction.find(read.direction, Direction::Send)->throughput_mbps, 7);
  EXPECT_EQ(read.by_direction.find(read.direction, Direction::Receive)->throughput_mbps, 8);
}

TEST(ByDirection, OfOneWayAllIsThereOrNothing) {
  Json json = printed({.by_direction = {.only = TcpFigures{}}});
  json.erase("bytes");
  EXPECT_FALSE(documents::read<ProbeTcp>(json));
  EXPECT_TRUE(documents::read<ProbeTcp>(printed({})));
}

}  // namespace
}  // namespace chokepoint::documents
