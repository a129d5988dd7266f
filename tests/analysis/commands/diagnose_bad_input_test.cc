// Whatever is wrong with the records: the best answer that they allow, what is missing by name, and
// 'unknown' rather than a guess.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/record/database.h"
#include "base/record/schema.h"
#include "tests/analysis/commands/diagnose_run.h"
#include "tests/analysis/run_maker.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;
using record::Direction;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

constexpr double kStepMs = 200;
constexpr double kCopyingMs = 140;  // of each step
constexpr std::int64_t kSteps = 30;
constexpr double kBytesPerSecond = 25e6;

class BadInput : public testing::Test {
 protected:
  static NodePlan plan_of(const std::string& name) {
    const bool is_a = name == "a";
    return {.name = name,
            .address = is_a ? "10.0.0.1" : "10.0.0.2",
            .speed_mbps = 200,
            .rank = is_a ? 0 : 1};
  }

  static std::int64_t flow_of(NodeMaker& node) {
    return node.plan().rank == 0 ? node.flow("10.0.0.1:4000", "10.0.0.2:5000")
                                 : node.flow("10.0.0.2:5000", "10.0.0.1:4000");
  }

  // A step in which both ranks compute first and fill the link afterwards.
  static void exchange(NodeMaker& node, bool with_packets = true, bool with_steps = true) {
    const std::int64_t flow = flow_of(node);
    for (std::int64_t step = 0; step < kSteps; ++step) {
      const double end_ms = static_cast<double>(step + 1) * kStepMs;
      for (const Direction way : {Direction::AToB, Direction::BToA}) {
        if (with_packets) {
          node.traffic(
              flow, way,
              {.from_ms = end_ms - kCopyingMs, .to_ms = end_ms, .bytes_per_s = kBytesPerSecond});
        }
      }
    }
    node.sockets(flow, Direction::AToB,
                 {.from_ms = 0,
                  .to_ms = kSteps * kStepMs,
                  .first = {.state = 1, .bytes_sent = 0, .busy_us = 0},
                  .last = {.state = 1, .bytes_sent = 100'000'000, .busy_us = 4'000'000}});
    if (with_steps) {
      node.steps({.count = kSteps, .length_ms = kStepMs});
    }
  }

  NodeMaker& node(NodePlan plan) {
    NodeMaker& made = run_.node(plan);
    exchange(made);
    return made;
  }
  void both() {
    node(plan_of("a"));
    node(plan_of("b"));
    run_.finish();
  }

  fs::path file(const std::string& name) const { return run_.folder() / (name + ".db"); }

  void cut(const std::string& name, double part) const {
    const auto size = static_cast<double>(fs::file_size(file(name)));
    fs::resize_file(file(name), static_cast<std::uintmax_t>(size * part));
  }

  // What is said, and that it holds together.
  json diagnosis() const {
    const fakes::CliRun run = run_diagnose({run_.folder().string(), "--json"});
    EXPECT_EQ(run.code, cli::ExitCode::Done) << run.err;
    const json document = json::parse(run.out, nullptr, false);
    if (document.is_discarded()) {
      ADD_FAILURE() << "no document: " << run.out;
      return {};
    }
    const double confidence = document["verdict"]["confidence"];
    EXPECT_GE(confidence, 0);
    EXPECT_LE(confidence, 1);
    const json& accounts = document["accounting_ms_per_step"];
    if (accounts.is_object()) {
      double sum = 0;
      for (const auto& [name, ms] : accounts.items()) {
        EXPECT_GE(ms.get<double>(), 0) << name;
        sum += ms.get<double>();
      }
      EXPECT_NEAR(sum, document["steps"]["mean_ms"].get<double>(), sum / 50);
    }
    const fakes::CliRun page = run_diagnose({run_.folder().string(), "--all"});
    EXPECT_EQ(page.code, cli::ExitCode::Done);
    return document;
  }

  static std::vector<std::string> missing(const json& document) { return document["missing"]; }

  RunMaker run_;
};

TEST_F(BadInput, TheSoundRunIsToldWithoutComplaint) {
  both();
  const json document = diagnosis();
  EXPECT_EQ(document["steps"]["count"], kSteps);
  // Made records have no packets that both ends saw, and no library's messages.
  EXPECT_THAT(missing(document), testing::Each(testing::AnyOf(HasSubstr("clocks of a and b"),
                                                              HasSubstr("library's messages"))));
}

TEST_F(BadInput, ARecordCutShort) {
  both();
  cut("a", 0.9);
  const json document = diagnosis();
  EXPECT_THAT(missing(document), Contains("the record of a is cut short or damaged"));
  EXPECT_EQ(document["complete"], false);
}

TEST_F(BadInput, ARecordOfWhichLittleIsLeft) {
  both();
  for (int round = 0; round < 5; ++round) {
    cut("a", 0.6);
    const json document = diagnosis();
    EXPECT_THAT(missing(document),
                Contains(testing::AnyOf(HasSubstr("of a is cut short"), HasSubstr("a.db"))));
    EXPECT_EQ(document["steps"]["count"], kSteps);
  }
}

TEST_F(BadInput, ARecordCutBeforeItsTables) {
  both();
  fs::resize_file(file("a"), 100);
  const json document = diagnosis();
  EXPECT_THAT(missing(document), Contains(HasSubstr("a.db")));
  EXPECT_EQ(document["steps"]["count"], kSteps);
}

TEST_F(BadInput, ANodeThatLeftNone) {
  both();
  const double whole = diagnosis()["verdict"]["confidence"];
  fs::remove(file("b"));
  const json document = diagnosis();
  EXPECT_THAT(missing(document), Contains(HasSubstr("no record of rank 1")));
  EXPECT_EQ(document["steps"]["count"], kSteps);
  EXPECT_LT(document["verdict"]["confidence"].get<double>(), 0.7 * whole);
}

TEST_F(BadInput, ClocksAnHourApart) {
  RunMaker aligned;
  for (const char* name : {"a", "b"}) {
    exchange(aligned.node(plan_of(name)));
  }
  aligned.finish();
  const json usual = diagnosis_of(aligned.folder());

  constexpr std::int64_t kHourNs = 3600 * 1000 * kMsNs;
  NodePlan late = plan_of("b");
  late.start_ns += kHourNs;
  late.wall_ns += kHourNs;
  node(plan_of("a"));
  node(late);
  run_.finish();
  const json document = diagnosis();
  // A wrong clock is no reason to say what right clocks would not have said.
  EXPECT_THAT(document["verdict"]["class"],
              testing::AnyOf(usual["verdict"]["class"], json("unknown")));
  EXPECT_EQ(document["steps"]["count"], kSteps);
}

TEST_F(BadInput, NoPackets) {
  for (const char* name : {"a", "b"}) {
    exchange(run_.node(plan_of(name)), false);
  }
  run_.finish();
  EXPECT_THAT(missing(diagnosis()), Contains("no packets were captured on b"));
}

TEST_F(BadInput, NoSteps) {
  for (const char* name : {"a", "b"}) {
    exchange(run_.node(plan_of(name)), true, false);
  }
  run_.finish();
  const json document = diagnosis();
  EXPECT_EQ(document["verdict"]["class"], "unknown");
  EXPECT_TRUE(document["accounting_ms_per_step"].is_null());
  EXPECT_TRUE(document["verdict"]["lost_ms_per_step"].is_null());
  EXPECT_TRUE(document["steps"]["count"].is_null());
  EXPECT_THAT(missing(document), Contains("no steps were found on a"));
}

TEST_F(BadInput, TwoJobsInOneRecord) {
  both();
  NodePlan again = plan_of("a");
  again.start_ns += 20'000 * kMsNs;
  again.command = {"train", "--again"};
  exchange(run_.node(again));
  run_.finish();
  const json document = diagnosis();
  EXPECT_THAT(missing(document), Contains(HasSubstr("a holds 2 jobs")));
}

TEST_F(BadInput, TwoJobsInOneFolder) {
  both();
  NodePlan stranger = plan_of("b");
  stranger.name = "c";
  node(stranger);
  run_.finish();
  EXPECT_THAT(missing(diagnosis()), Contains(HasSubstr("two jobs lie here")));
}

TEST_F(BadInput, ANewerSchema) {
  both();
  ASSERT_TRUE(
      record::Database::open(file("b"), record::Access::Write)->run("PRAGMA user_version=99"));
  EXPECT_THAT(missing(diagnosis()), Contains(AllOf(HasSubstr("b.db"), HasSubstr("schema 99"))));
  const fakes::CliRun alone = run_diagnose({file("b").string()});
  EXPECT_EQ(alone.code, cli::ExitCode::Failed);
  EXPECT_THAT(alone.err, HasSubstr("b.db"));
  EXPECT_EQ(std::ranges::count(alone.err, '\n'), 1);
}

TEST_F(BadInput, AnOlderSchema) {
  auto database = record::Database::open(file("a"), record::Access::Write);
  ASSERT_TRUE(database);
  ASSERT_TRUE(record::migrate(*database, record::migrations().first(1)));
  ASSERT_TRUE(
      database->run("INSERT INTO session(id,role,command,node,host,boot_id,kernel,program,start_ns,"
                    "start_wall_ns,seen_ns,end_ns,exit_status,shift_ns)"
                    " VALUES(1,'run','train','a','a','boot','6','0',0,0,3000000000,3000000000,0,0);"
                    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<29)"
                    " INSERT INTO step(start_ns,end_ns,merged,number,rank,source)"
                    " SELECT i*100000000,(i+1)*100000000,1,i,0,1 FROM n;"));
  const json document = diagnosis();
  EXPECT_EQ(document["steps"]["count"], 30);
  EXPECT_THAT(missing(document), Contains("no connection of the job was seen on a"));
}

TEST_F(BadInput, AnEmptyRecord) {
  run_.node({.rank = {}, .command = {}});
  run_.finish();
  const json document = diagnosis();
  EXPECT_EQ(document["verdict"]["class"], "unknown");
  EXPECT_THAT(missing(document), Contains("no process of the job was seen on a"));
}

TEST_F(BadInput, AnEmptyFile) {
  std::ofstream(file("a")).close();
  const fakes::CliRun run = run_diagnose({run_.folder().string()});
  EXPECT_EQ(run.code, cli::ExitCode::Failed);
  EXPECT_THAT(run.err, HasSubstr("a.db"));
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1);
}

TEST_F(BadInput, NoneThatCanBeRead) {
  for (const char* name : {"a", "b"}) {
    std::ofstream(file(name)) << "nonsense";
  }
  const fakes::CliRun run = run_diagnose({run_.folder().string()});
  EXPECT_EQ(run.code, cli::ExitCode::Failed);
  EXPECT_THAT(run.err, HasSubstr(run_.folder().string()));
}

TEST_F(BadInput, AFolderWithoutRecords) {
  const fakes::CliRun run = run_diagnose({record::PrivateFolder::make()->path()});
  EXPECT_EQ(run.code, cli::ExitCode::Failed);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
}

TEST_F(BadInput, ARunThatWasKilled) {
  NodePlan plan = plan_of("a");
  plan.is_ended = false;
  node(plan);
  run_.finish();
  const json document = diagnosis();
  EXPECT_EQ(document["complete"], false);
  EXPECT_THAT(missing(document), Contains(HasSubstr("of a has no end")));
}

}  // namespace
}  // namespace chokepoint::analysis
