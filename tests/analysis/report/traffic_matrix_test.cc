// Who sent how much to whom: the matrix of flow_table.h.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/report/flow_table.h"
#include "analysis/report/report_document.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::SizeIs;

FlowLine line(const char* a, const char* b, std::optional<std::int64_t> sent,
              std::optional<std::int64_t> received = {}) {
  FlowLine made{.sides = {FlowSide{.name = a}, FlowSide{.name = b}}};
  made.directions[0].payload_bytes = sent;
  made.directions[1].payload_bytes = received;
  return made;
}

RunData run_of(const std::vector<std::string>& names) {
  RunData run;
  for (const std::string& name : names) {
    run.nodes.push_back({.name = name});
  }
  return run;
}

TEST(TrafficMatrixOf, SumsAllConnectionsOfAPair) {
  const FlowTable table{.flows = {line("a", "b", 1'000'000, 500), line("b", "a", 7, 1'000'000)}};
  const TrafficMatrix matrix = traffic_matrix(run_of({"a", "b"}), table, 4);
  EXPECT_THAT(matrix.names, ElementsAre("a", "b"));
  EXPECT_THAT(matrix.bytes[0][1], Optional(2'000'000));
  EXPECT_THAT(matrix.bytes[1][0], Optional(507));
  EXPECT_THAT(matrix.throughput_mbps[0][1], Optional(4.0));
  EXPECT_FALSE(matrix.bytes[0][0]);
}

TEST(TrafficMatrixOf, NamesNodesFirstAndThoseWithoutARecordBehindThem) {
  const FlowTable table{.flows = {line("10.0.0.9", "b", 5)}};
  const TrafficMatrix matrix = traffic_matrix(run_of({"a", "b"}), table, 1);
  EXPECT_THAT(matrix.names, ElementsAre("a", "b", "10.0.0.9"));
  EXPECT_THAT(matrix.bytes[2][1], Optional(5));
  EXPECT_FALSE(matrix.bytes[0][1]);
}

TEST(TrafficMatrixOf, KeepsWhatStaysOnOneNode) {
  const FlowTable table{.flows = {line("a", "a", 5, 6)}};
  EXPECT_THAT(traffic_matrix(run_of({"a"}), table, 1).bytes[0][0], Optional(11));
}

TEST(TrafficMatrixOf, OfManyPeersNamesThoseThatCarriedMost) {
  FlowTable table;
  for (int peer = 0; peer < 1000; ++peer) {
    table.flows.push_back(
        line("a", fmt::format("10.1.{}.{}", peer / 250, peer % 250).c_str(), peer < 970 ? 1 : 100));
  }
  const TrafficMatrix matrix = traffic_matrix(run_of({"a"}), table, 1);
  EXPECT_THAT(matrix.names, SizeIs(42));
  EXPECT_EQ(matrix.names[1], "10.1.3.220");
  EXPECT_EQ(matrix.names.back(), "960 others");
  EXPECT_THAT(matrix.bytes[0][30], Optional(100));
  EXPECT_THAT(matrix.bytes[0][31], Optional(1));
  EXPECT_THAT(matrix.bytes[0].back(), Optional(960));
  EXPECT_THAT(matrix.source, HasSubstr("of 1000 peers without a record the 40"));
}

TEST(TrafficMatrixOf, LeavesWhatIsUnknownEmpty) {
  const FlowTable table{.flows = {line("a", "b", std::nullopt, 0)}};
  const json::Json document =
      json::to_json(traffic_matrix(run_of({"a", "b"}), table, std::nullopt));
  EXPECT_EQ(document["bytes"].dump(), "[[null,null],[0,null]]");
  EXPECT_EQ(document["throughput_mbps"].dump(), "[[null,null],[null,null]]");
}

TEST(TrafficMatrixOf, IsEmptyWithoutNodes) {
  EXPECT_EQ(json::to_json(traffic_matrix({}, {}, 1))["bytes"].dump(), "[]");
}

}  // namespace
}  // namespace chokepoint::analysis
