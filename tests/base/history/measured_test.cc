#include "base/history/measured.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace chokepoint::history {
namespace {

using nlohmann::ordered_json;
using testing::Contains;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

ordered_json tcp() {
  return ordered_json::parse(R"({
    "schema": "chokepoint.probe.tcp/1", "host": "a", "started_at": "2026-05-03T14:10:00.500Z",
    "peer": {"host": "10.0.0.2", "name": "b"}, "direction": "send", "streams": 4,
    "throughput_mbps": 94000, "rtt_ms": {"median": 0.2},
    "host_facts": {"own": {"gpu": {"driver": "550"}}, "peer": {"nic": {"mtu": "9000"}}}})");
}

std::vector<std::string> texts(const Batch& batch) {
  std::vector<std::string> all;
  for (const Row& row : batch.rows) {
    all.push_back(text_of(row.series.subject) + " " + row.series.metric + " " +
                  std::to_string(static_cast<int>(row.measured.value)));
  }
  return all;
}

TEST(Measured, ATestIsRowsOfItsPath) {
  const Batch batch = measured_in(tcp(), {.source = "x.json", .program = "chokepoint 0.1.0"});
  EXPECT_THAT(texts(batch), UnorderedElementsAre("a > b throughput_mbps 94000", "a > b rtt_ms 0"));
  const Row& row = batch.rows.front();
  EXPECT_EQ(row.series.setting, "streams=4 test=tcp");
  EXPECT_EQ(row.measured.wall_ns, 1'777'817'400'500'000'000);
  EXPECT_EQ(row.measured.source, "x.json");
  EXPECT_THAT(batch.hosts, SizeIs(2));
}

TEST(Measured, ARateOneWayIsOfThatWayWhicheverEndAsked) {
  ordered_json document = tcp();
  document["direction"] = "receive";
  EXPECT_THAT(texts(measured_in(document, {})), Contains("b > a throughput_mbps 94000"));
  document["direction"] = "both";
  document["send"]["throughput_mbps"] = 50;
  document["receive"]["throughput_mbps"] = 40;
  EXPECT_THAT(texts(measured_in(document, {})),
              UnorderedElementsAre("a > b throughput_mbps 50", "b > a throughput_mbps 40",
                                   "a > b rtt_ms 0"));
}

TEST(Measured, PairsOfAPreflightAreTheirPaths) {
  const auto document = ordered_json::parse(R"({
    "schema": "chokepoint.preflight/1", "host": "head", "started_at": "2026-05-03T14:10:00Z",
    "hosts": [{"name": "10.0.0.1", "facts": {"host": "a"}}, {"name": "b"}, {"name": ""}],
    "pairs": {"a": [0, 0, 7], "b": [1, 2, 1], "rtt_ms": [0.5, 1, 1],
              "there": {"tcp_mbps": [900, 1, 1]}, "back": {"tcp_mbps": [null, 1, 1]}}})");
  EXPECT_THAT(texts(measured_in(document, {})),
              UnorderedElementsAre("a > b throughput_mbps 900", "a > b rtt_ms 0"));
}

TEST(Measured, ChecksThatFailAreCounted) {
  const auto document = ordered_json::parse(R"({
    "schema": "chokepoint.doctor/1", "host": "a", "started_at": "2026-05-03T14:10:00Z",
    "verdict": "CRITICAL", "checks": [
      {"id": "nic.mtu", "status": "CRITICAL", "subject": "eth0", "found": "", "wanted": "",
       "why": "", "next_step": null},
      {"id": "nic.mtu", "status": "PASS", "subject": "eth1", "found": "", "wanted": "", "why": "",
       "next_step": null}]})");
  EXPECT_THAT(texts(measured_in(document, {})),
              UnorderedElementsAre("a checks_critical 1", "a checks_warning 0"));
}

TEST(Measured, WhatCannotBeUsedIsLeftOut) {
  ordered_json document = tcp();
  document["interrupted"] = true;
  EXPECT_THAT(measured_in(document, {}).rows, IsEmpty());
  document = tcp();
  document["started_at"] = "yesterday";
  EXPECT_THAT(measured_in(document, {}).rows, IsEmpty());
  document = tcp();
  document["throughput_mbps"] = "fast";
  document["rtt_ms"] = 7;
  document["host_facts"] = nullptr;
  EXPECT_TRUE(measured_in(document, {}).empty());
  EXPECT_TRUE(measured_in(ordered_json::array(), {}).empty());
  EXPECT_TRUE(measured_in(nullptr, {}).empty());
}

}  // namespace
}  // namespace chokepoint::history
