#include "analysis/report/recorded_probe.h"

#include <gmock/gmock.h>

#include <string>

namespace chokepoint::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

RecordedProbe probe_of(const std::string& document) {
  RunData run;
  run.nodes.push_back({.name = "a"});
  run.nodes[0].probes.push_back({.id = 7, .kind = "tcp", .peer = "b", .document = document});
  return recorded_probes(run).at(0);
}

std::string text_of_probe_value(const ProbeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return *text;
  }
  const auto* number = std::get_if<double>(&value);
  return number == nullptr ? "-" : std::to_string(static_cast<int>(*number));
}

std::vector<std::string> lines_of(const RecordedProbe& probe) {
  std::vector<std::string> lines;
  for (const NamedValue& each : probe.values) {
    lines.push_back(each.what + " = " + text_of_probe_value(each.value) + " " + each.unit);
  }
  return lines;
}

TEST(RecordedProbes, NamesAndUnitsAreThoseOfTheFields) {
  EXPECT_THAT(lines_of(probe_of(R"({"schema":"x","host":"a","peer":{"host":"b"},"streams":2,
      "throughput_mbps":900,"congestion_control":"bbr","zero_copy":true,"lost":null,
      "cpu":{"sender_percent":12},"rtt_ms":{"median":3,"count":8},"host_facts":{"own":{}},
      "summary":["one","two"]})")),
              ElementsAre("streams = 2 ", "throughput = 900 mbps", "congestion control = bbr ",
                          "zero copy = yes ", "cpu, sender = 12 percent", "rtt, median = 3 ms",
                          "rtt, count = 8 ", "summary = one ", "summary = two "));
}

TEST(RecordedProbes, ListsAreTables) {
  const RecordedProbe probe = probe_of(R"({"send":{"intervals":[{"start_s":0,"rtt_ms":{"min":1}},
      {"start_s":1,"lost":null,"note":"odd"}]}})");
  ASSERT_THAT(probe.lists, SizeIs(1));
  const NamedList& list = probe.lists[0];
  EXPECT_EQ(list.what, "send, intervals");
  ASSERT_THAT(list.columns, SizeIs(3));
  EXPECT_EQ(list.columns[1].what + " " + list.columns[1].unit, "rtt, min ms");
  ASSERT_THAT(list.rows, SizeIs(2));
  EXPECT_EQ(text_of_probe_value(list.rows[1][1]), "-");
  EXPECT_EQ(text_of_probe_value(list.rows[1][2]), "odd");
}

TEST(RecordedProbes, ALongListSaysHowLongItIs) {
  std::string items;
  for (int item = 0; item < 300; ++item) {
    items += std::string(item == 0 ? "" : ",") + R"({"a":1})";
  }
  const RecordedProbe probe = probe_of(R"({"list":[)" + items + "]}");
  EXPECT_THAT(probe.lists.at(0).rows, SizeIs(200));
  EXPECT_EQ(probe.lists[0].count, 300U);
}

TEST(RecordedProbes, WhatIsNoDocumentHasNoValues) {
  for (const char* text : {"", "[1]", "{", R"({"list":[[1],[2]],"mixed":[{"a":1},2]})"}) {
    EXPECT_THAT(probe_of(text).lists, IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace chokepoint::analysis
