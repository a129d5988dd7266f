#include "analysis/commands/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <sstream>

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
  EXPECT_EQ(run_diagnose({folder(), "--every", "1us"}).code, cli::ExitCode::Usage);
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

TEST_F(Diagnose, FollowsToTheEnd) {
  make();
  const fakes::CliRun run = run_diagnose({folder(), "--follow"});
  EXPECT_EQ(run.code, cli::ExitCode::Done);
  EXPECT_EQ(std::ranges::count(run.out, '\n'), 1);
  EXPECT_THAT(run.out, HasSubstr("20 steps"));
}

TEST_F(Diagnose, FollowsWithADocumentALine) {
  make();
  const fakes::CliRun run = run_diagnose({folder(), "--follow", "--json"});
  EXPECT_EQ(std::ranges::count(run.out, '\n'), 1);
  EXPECT_EQ(json::parse(run.out)["schema"], "chokepoint.diagnosis/1");
}

TEST_F(Diagnose, CtrlCLeavesTheLastLook) {
  make(false);
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  raise(SIGINT);
  const fakes::CliRun run = run_diagnose({folder(), "--follow"});
  // Taken: it would end the process now.
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGINT), 0);
  const timespec now{};
  sigtimedwait(&interrupt, nullptr, &now);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(run.code, cli::ExitCode::Interrupted);
  EXPECT_THAT(run.out, HasSubstr("20 steps"));
}

// Half a minute passes whenever somebody asks.
class HastyClock final : public sys::Clock {
 public:
  std::int64_t monotonic_ns() const override { return now_ += 30'000 * kMsNs; }
  std::int64_t wall_ns() const override { return 0; }

 private:
  mutable std::int64_t now_ = 0;
};

class FollowOnATerminal : public Diagnose {
 protected:
  Result<Followed> watch() {
    const HastyClock clock;
    cli::Context context{.out = out_,
                         .err = out_,
                         .clock = clock,
                         .root = sys::Root("/nowhere"),
                         .environment = [](const std::string&) { return std::nullopt; },
                         .out_terminal = {.interactive = true, .color = true, .width = 80},
                         .err_terminal = {}};
    return follow(folder(), {}, std::chrono::milliseconds(1), false, context);
  }

  std::ostringstream out_;
};

TEST_F(FollowOnATerminal, EndsWhereNobodyWritesAnyMoreAndRedrawsUntilThen) {
  make(false);
  const Result<Followed> followed = watch();
  ASSERT_TRUE(followed);
  EXPECT_FALSE(followed->is_interrupted);
  EXPECT_FALSE(followed->last.is_complete);
  // As many lines up as the look before took.
  const std::string text = out_.str();
  const std::size_t redrawn = text.find("\033[J");
  ASSERT_NE(redrawn, std::string::npos);
  const std::string before = text.substr(0, text.rfind("\033[", redrawn - 1));
  EXPECT_THAT(text, HasSubstr("\033[" + std::to_string(std::ranges::count(before, '\n')) + "A"));
}

}  // namespace
}  // namespace chokepoint::analysis
