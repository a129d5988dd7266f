#include "analysis/commands/report_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace chokepoint::analysis {
namespace {

using testing::ElementsAre;

std::vector<std::string> only_connection(const FlowLine& flow) {
  Report report;
  report.flows.flows.push_back(flow);
  const std::vector<Section> sections = sections_of(report);
  const auto found = std::ranges::find(sections, std::string("Connections"), &Section::title);
  return found == sections.end() ? std::vector<std::string>() : found->table.rows.at(0);
}

TEST(ReportSections, WhatIsUnknownIsNoNumber) {
  FlowLine flow{.sides = {FlowSide{.name = "a"}, FlowSide{.name = "b"}}};
  EXPECT_THAT(only_connection(flow), ElementsAre("a", "b", "–", "–", "–", "–"));
  flow.ways[1].retransmitted_packets = 0;
  EXPECT_EQ(only_connection(flow).at(4), "0");
  flow.ways[0].retransmitted_packets = 3;
  EXPECT_EQ(only_connection(flow).at(4), "3");
}

}  // namespace
}  // namespace chokepoint::analysis
