#include "analysis/commands/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/commands/diagnose_run.h"
#include "tests/analysis/run_maker.h"

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
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("\n  step       20 steps from marks"), HasSubstr("\n  why        "),
                    HasSubstr("\n  do         "), HasSubstr("\n  confidence ")));
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
