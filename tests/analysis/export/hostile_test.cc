// Names that somebody chose to do harm, and records that are not whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>

#include "analysis/attribution/diagnose.h"
#include "analysis/export/formats.h"
#include "analysis/export/perfetto/perfetto.h"
#include "base/cli/text.h"
#include "base/record/database.h"
#include "base/record/row.h"
#include "tests/analysis/export/made_export.h"

namespace chokepoint::analysis {
namespace {

using nlohmann::json;
using testing::IsEmpty;

std::string json_text(const std::filesystem::path& folder) {
  return exported_text(folder, [](ExportedRun& run, cli::Output& out) {
    write_json(run, {{"schema", "chokepoint.export/1"}}, out);
  });
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class HostileRun : public testing::Test {
 protected:
  void SetUp() override {
    NodeMaker& node = run_.node({.name = "a", .command = {kHostile}});
    const std::int64_t flow = node.flow("10.0.0.1:4000", "10.0.0.2:5000");
    node.steps({.count = 3, .length_ms = 100});
    node.traffic(flow, record::Direction::AToB, {.from_ms = 0, .to_ms = 100, .bytes_per_s = 1e6});
    node.counter(kHostile, kHostile, {{.ms = 0, .value = 0}, {.ms = 100, .value = 5}});
    node.counter("job.sent_bytes", kHostile, {{.ms = 0, .value = 0}, {.ms = 100, .value = 5}});
    node.fact(kHostile, kHostile, kHostile, kHostile);
    node.event(50, kHostile, kHostile, kHostile);
    node.add(record::Label{.key = kHostile, .value = kHostile});
    run_.finish();
    record::Database database =
        std::move(*record::Database::open(run_.folder() / "a.db", record::Access::Write));
    // A node's name cannot be given like this on a command line, but a file can hold it.
    ASSERT_TRUE(database.run("UPDATE session SET node='=a\"'||char(10)||CAST(x'ff1b' AS TEXT)"));
    ASSERT_TRUE(database.run("UPDATE flow SET a_address=CAST(x'ff22' AS TEXT)||'<b>,'"));
  }
  RunMaker run_;
};

TEST_F(HostileRun, IsAWholeTrace) {
  const TraceContent trace = exported_trace(run_.folder());
  EXPECT_THAT(trace.faults, IsEmpty());
  EXPECT_GT(trace.events.size(), 10U);
}

TEST_F(HostileRun, IsWholeJson) {
  const json document = json::parse(json_text(run_.folder()));
  const json& facts = document["nodes"][0]["tables"]["facts"];
  const auto value = facts["rows"].back()[4].get<std::string>();
  EXPECT_EQ(value, cli::valid_utf8(kHostile));
  EXPECT_EQ(document["nodes"][0]["node"], "=a\"\n\xEF\xBF\xBD\x1b");
}

TEST_F(HostileRun, IsWholeCsv) {
  const std::filesystem::path tables = run_.folder() / "tables";
  with_export(run_.folder(), {}, [&](ExportedRun& run) { ASSERT_TRUE(write_csv(run, tables)); });
  for (const auto& file : std::filesystem::directory_iterator(tables)) {
    const std::string text = contents(file.path());
    EXPECT_EQ(cli::valid_utf8(text), text) << file.path();
    EXPECT_EQ(text.find_first_of(std::string_view("\x1b\x01\0", 3)), std::string::npos);
    EXPECT_EQ(text.find("\n="), std::string::npos) << file.path();
    EXPECT_EQ(text.find(",="), std::string::npos) << file.path();
    EXPECT_EQ(text.find("\"="), std::string::npos) << file.path();
    EXPECT_EQ(std::ranges::count(text, '"') % 2, 0) << file.path();
  }
}

TEST_F(HostileRun, IsOneLineASampleForPrometheus) {
  const std::string text = exported_text(run_.folder(), [](ExportedRun& run, cli::Output& out) {
    out.write(prometheus_text(run, diagnose(run.data(), {})));
  });
  EXPECT_EQ(cli::valid_utf8(text), text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.starts_with("# ") || line.starts_with("chokepoint_")) << line;
  }
}

// The largest times and numbers that a reader lets in.
TEST(BrokenRun, AnyTimeCanBeExported) {
  RunMaker made;
  NodeMaker& node = made.node({});
  const std::int64_t flow = node.flow("10.0.0.1:4000", "10.0.0.2:5000");
  constexpr std::int64_t kMost = record::kMostNs;
  constexpr std::int64_t kMany = record::kMostNumber;
  for (const std::int64_t t_ns : {std::int64_t{-5}, std::int64_t{1}, kMost / 2, kMost}) {
    node.push(record::FlowSample{.t_ns = t_ns, .bin_ns = kMost, .flow = flow, .bytes = kMany});
    node.push(record::Step{.start_ns = t_ns, .end_ns = 5, .number = kMany});
    node.push(record::Collective{.start_ns = kMost,
                                 .end_ns = t_ns,
                                 .kind = static_cast<record::CollectiveKind>(77),
                                 .own_ready_ns = kMost,
                                 .waited_ns = kMost});
    node.push(record::CounterSample{.t_ns = t_ns, .series = 99, .value = 1e308});
    node.push(record::GaugeSample{.t_ns = t_ns, .bin_ns = kMost, .series = 98, .value = -1e308});
    node.push(record::SocketSample{.t_ns = t_ns, .flow = 97, .cwnd_packets = kMany});
  }
  made.finish();
  const TraceContent trace = exported_trace(made.folder());
  for (const std::string& fault : trace.faults) {
    EXPECT_THAT(fault, testing::AnyOf(testing::HasSubstr("goes back in time"))) << fault;
  }
  const json document = json::parse(json_text(made.folder()));
  EXPECT_EQ(document["nodes"][0]["tables"]["steps"]["rows"].size(), 4U);
  const json& collectives = document["nodes"][0]["tables"]["collectives"];
  const auto kind = std::ranges::find(collectives["columns"], "kind");
  ASSERT_NE(kind, collectives["columns"].end());
  EXPECT_EQ(
      collectives["rows"][0].at(static_cast<std::size_t>(kind - collectives["columns"].begin())),
      77);
}

TEST(BrokenRun, WhatIsLeftOfACutFileIsExported) {
  RunMaker made;
  make_full_run(made);
  const std::filesystem::path file = made.folder() / "a.db";
  constexpr std::uintmax_t kCut = 20'000;
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - kCut);
  const json document = json::parse(json_text(made.folder()));
  EXPECT_EQ(document["nodes"].size(), 2U) << document["troubles"];
  EXPECT_FALSE(document["troubles"].empty());
  EXPECT_FALSE(document["nodes"][1]["tables"]["steps"]["rows"].empty());
  const TraceContent trace = exported_trace(made.folder());
  EXPECT_GT(trace.events.size(), 100U);
}

}  // namespace
}  // namespace chokepoint::analysis
