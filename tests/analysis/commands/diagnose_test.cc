#include "analysis/commands/diagnose.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <string>

#include "tests/analysis/commands/diagnose_run.h"
#include "tests/analysis/run_maker.h"
#include "tests/fakes/temporary_file.h"

namespace chokepoint::analysis {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class Diagnose : public testing::Test {
 protected:
  void make(bool is_ended = true) {
    run_.node({.name = "a", .world_size = 1, .is_ended = is_ended})
        .steps({.count = 20, .length_ms = 100});
    run_.finish();
  }
  std::string folder() const { return run_.folder().string(); }

  RunMaker run_;
};

TEST_F(Diagnose, SaysFiveLines) {
  make();
  const fakes::CliRun run = run_diagnose({folder()});
  EXPECT_EQ(run.code, cli::ExitCode::Done);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, AllOf(HasSubstr("\n  step       18 of 20 steps from marks"),
                             HasSubstr("\n  why        "), HasSubstr("\n  do         "),
                             HasSubstr("\n  confidence ")));
}

TEST_F(Diagnose, TakesOneNodesRecord) {
  make();
  const fakes::CliRun run = run_diagnose({folder() + "/a.db", "--json"});
  EXPECT_EQ(run.code, cli::ExitCode::Done);
  EXPECT_EQ(json::parse(run.out)["nodes"], json::array({"a"}));
}

TEST_F(Diagnose, ErrorsAreOneLine) {
  for (const std::string& place : {folder(), folder() + "/none"}) {
    const fakes::CliRun run = run_diagnose({place});
    EXPECT_EQ(run.code, cli::ExitCode::Failed);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, AllOf(testing::StartsWith("chokepoint: diagnose: "), HasSubstr(place)));
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1);
  }
  EXPECT_EQ(run_diagnose({}).code, cli::ExitCode::Usage);
  EXPECT_EQ(run_diagnose({folder(), "--wan-rtt-ms", "0"}).code, cli::ExitCode::Usage);
}

std::string trace_of(int rank) {
  return fmt::format(
      R"({{"distributedInfo":{{"rank":{},"world_size":2}},"traceEvents":[
{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","ts":0,"dur":100000}},
{{"ph":"X","cat":"user_annotation","name":"gloo:all_reduce","ts":{},"dur":{}}}]}})",
      rank, rank == 0 ? 30'000 : 90'000, rank == 0 ? 70'000 : 10'000);
}

// As a profiler compresses its traces.
void write_compressed(const std::string& text, const std::string& path) {
  gzFile file = gzopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
}

// Without a record, as a shell writes "--with trace*.json".
TEST_F(Diagnose, TakesTheNamesBehindAFileOfAnotherToolAsMoreOfThem) {
  const fakes::TemporaryFile first(trace_of(0));
  const fakes::TemporaryFile second(trace_of(1));
  const std::string compressed = second.path() + ".json.gz";
  write_compressed(trace_of(1), compressed);
  for (const std::string& other : {second.path(), compressed}) {
    const fakes::CliRun run = run_diagnose({"--json", "--with", first.path(), other});
    ASSERT_EQ(run.code, cli::ExitCode::Done) << run.err;
    const json document = json::parse(run.out);
    EXPECT_EQ(document["verdict"]["class"], "straggler");
    EXPECT_EQ(document["verdict"]["where"]["rank"], 1);
    EXPECT_NEAR(document["verdict"]["lost_ms_per_step"].get<double>(), 60, 1e-6);
    EXPECT_EQ(document["steps"]["count"], 1);
  }
  std::filesystem::remove(compressed);
}

TEST_F(Diagnose, TheExitCodeTellsABottleneckFromNone) {
  for (int index = 0; index <= static_cast<int>(VerdictClass::Unknown); ++index) {
    const auto verdict = static_cast<VerdictClass>(index);
    const bool is_none = verdict == VerdictClass::Compute || verdict == VerdictClass::Unknown;
    EXPECT_EQ(exit_code_of({.verdict = verdict}),
              is_none ? cli::ExitCode::Done : cli::ExitCode::Found)
        << name_of(verdict);
  }
  make();
  EXPECT_EQ(run_diagnose({folder(), "--exit-code"}).code, cli::ExitCode::Done);
}

}  // namespace
}  // namespace chokepoint::analysis
