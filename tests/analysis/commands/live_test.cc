#include <gmock/gmock.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "analysis/commands/commands.h"
#include "base/record/writer_lock.h"
#include "tests/analysis/run_maker.h"
#include "tests/fakes/cli_run.h"

namespace chokepoint::analysis {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Live : public testing::Test {
 protected:
  void make(bool is_ended = true) {
    run_.node({.name = "a", .world_size = 1, .is_ended = is_ended})
        .steps({.count = 20, .length_ms = 100});
    run_.finish();
  }
  static fakes::CliRun live(std::vector<std::string> words) {
    words.insert(words.begin(), "live");
    const cli::Program program{.name = "chokepoint",
                               .version = "0",
                               .purpose = "test",
                               .sections = cli::one_section({live_command()})};
    return fakes::run_cli(program, words);
  }
  std::string folder() const { return run_.folder().string(); }

  RunMaker run_;
};

TEST_F(Live, LooksOnceAtARunInText) {
  make();
  const fakes::CliRun run = live({folder(), "--once"});
  EXPECT_EQ(run.code, cli::ExitCode::Done);
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, HasSubstr("\nso far   "));
  EXPECT_THAT(run.out, HasSubstr("\na     ended"));
}

TEST_F(Live, PrintsALineUntilTheRunHasEnded) {
  make();
  const fakes::CliRun run = live({folder()});
  EXPECT_EQ(run.code, cli::ExitCode::Done);
  EXPECT_EQ(std::ranges::count(run.out, '\n'), 1);
  EXPECT_THAT(run.out, HasSubstr(" ended, exit 0; "));
}

TEST_F(Live, PrintsADocumentALine) {
  make();
  const fakes::CliRun run = live({folder(), "--json"});
  EXPECT_EQ(std::ranges::count(run.out, '\n'), 1);
  const json document = json::parse(run.out);
  EXPECT_EQ(document["schema"], "chokepoint.live/1");
  EXPECT_EQ(document["nodes"][0]["state"], "ended");
  EXPECT_EQ(document["nodes"][0]["recent_ms"].size(), 20U);
  EXPECT_EQ(document["nodes"][0]["sent_mbps"], nullptr);
  EXPECT_EQ(document["diagnosis"]["schema"], "chokepoint.diagnosis/1");
}

TEST_F(Live, ARecordThatNobodyWritesHasEnded) {
  make(false);
  const fakes::CliRun run = live({folder(), "--json"});
  EXPECT_EQ(run.code, cli::ExitCode::Done);
  EXPECT_EQ(json::parse(run.out)["nodes"][0]["state"], "cut off");
}

TEST_F(Live, CtrlCEndsItAndLeavesWhatWasSeen) {
  make(false);
  auto writing = record::WriterLock::take(run_.folder() / "a.db");
  ASSERT_TRUE(writing);
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &interrupt, &before);
  raise(SIGINT);
  const fakes::CliRun run = live({folder()});
  // Taken: it would end the process now.
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGINT), 0);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(run.code, cli::ExitCode::Interrupted);
  EXPECT_THAT(run.out, HasSubstr("1 of 1 nodes run; "));
}

TEST_F(Live, SeveralFoldersAreOneRun) {
  make();
  RunMaker other;
  other.node({.name = "b", .address = "10.0.0.2", .rank = 1});
  other.finish();
  const fakes::CliRun run = live({folder(), other.folder().string(), "--json"});
  const json document = json::parse(run.out);
  EXPECT_EQ(document["nodes"].size(), 2U);
  EXPECT_EQ(document["diagnosis"]["nodes"], json::array({"a", "b"}));
}

TEST_F(Live, ErrorsAreOneLine) {
  for (const auto& [words, code] : std::vector<std::pair<std::vector<std::string>, cli::ExitCode>>{
           {{folder() + "/none"}, cli::ExitCode::Failed},
           {{folder()}, cli::ExitCode::Failed},
           {{"127.0.0.1:1"}, cli::ExitCode::Failed},
           {{folder(), "127.0.0.1:1"}, cli::ExitCode::Usage},
           {{"gpu1:http"}, cli::ExitCode::Usage},
           {{"gpu[1-300]:9464"}, cli::ExitCode::Usage},
           {{folder(), "--interval", "1ms"}, cli::ExitCode::Usage}}) {
    const fakes::CliRun run = live(words);
    EXPECT_EQ(run.code, code) << words.back();
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
}

}  // namespace
}  // namespace chokepoint::analysis
