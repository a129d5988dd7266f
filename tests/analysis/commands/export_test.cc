#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "analysis/commands/commands.h"
#include "tests/analysis/run_maker.h"
#include "tests/fakes/cli_run.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class Export : public testing::Test {
 protected:
  void SetUp() override {
    run_.node({.name = "a", .world_size = 1}).steps({.count = 20, .length_ms = 100});
    run_.finish();
  }
  static fakes::CliRun exported(std::vector<std::string> words) {
    words.insert(words.begin(), "export");
    const cli::Program program{.name = "chokepoint",
                               .version = "0",
                               .purpose = "test",
                               .sections = cli::one_section({export_command()})};
    return fakes::run_cli(program, words);
  }
  std::string folder() const { return run_.folder().string(); }
  std::string place(const char* name) const { return (run_.folder() / name).string(); }

  RunMaker run_;
};

TEST_F(Export, WritesEachFormat) {
  for (const std::string format : {"perfetto", "prometheus", "csv", "json"}) {
    const std::string to = place(("out-" + format).c_str());
    const fakes::CliRun run = exported({folder(), "--to", format, "-o", to});
    EXPECT_EQ(run.code, cli::ExitCode::Done);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr(to));
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1);
    EXPECT_TRUE(fs::exists(to));
  }
  EXPECT_TRUE(fs::exists(place("out-csv") + "/steps.csv"));
}

TEST_F(Export, GoesToStandardOutputWithoutAPlace) {
  const fakes::CliRun text = exported({folder(), "--to", "json"});
  EXPECT_EQ(text.err, "");
  EXPECT_EQ(json::parse(text.out)["schema"], "chokepoint.export/1");
  EXPECT_THAT(exported({folder(), "--to", "prometheus"}).out, StartsWith("# HELP chokepoint_"));
  EXPECT_GT(exported({folder(), "--to", "perfetto"}).out.size(), 1000U);
}

TEST_F(Export, TellsScriptsWhatWasWritten) {
  const std::string to = place("a.pftrace");
  const fakes::CliRun run = exported({folder(), "--to", "perfetto", "-o", to, "--json"});
  const json document = json::parse(run.out);
  EXPECT_EQ(document["schema"], "chokepoint.exported/1");
  EXPECT_EQ(document["to"], "perfetto");
  EXPECT_GE(document["events"].get<int>(), 40);
  EXPECT_EQ(document["files"][0]["path"], to);
  EXPECT_EQ(document["files"][0]["bytes"], fs::file_size(to));
  EXPECT_EQ(exported({folder(), "--to", "json", "--json"}).code, cli::ExitCode::Usage);
}

TEST_F(Export, MistakesAreOneLine) {
  const std::vector<std::vector<std::string>> mistakes{
      {folder()},
      {folder(), "--to", "xml"},
      {folder(), "--to", "csv"},
      {folder(), "--to", "json", "--since", "5s", "--until", "5s"},
      {folder(), "--to", "prometheus", "--since", "5s"},
      {folder(), "-o", place("a.txt")},
      {folder(), "--send", "https://127.0.0.1:4318"}};
  for (const auto& words : mistakes) {
    const fakes::CliRun run = exported(words);
    EXPECT_EQ(run.code, cli::ExitCode::Usage) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
  for (const char* format : {"perfetto", "prometheus", "csv", "json"}) {
    EXPECT_THAT(exported({folder(), "--to", "xml"}).err, HasSubstr(format));
    EXPECT_THAT(exported({folder()}).err, HasSubstr(format));
  }
}

TEST_F(Export, NeverTakesTheRecordsPlace) {
  const auto size = fs::file_size(place("a.db"));
  for (const std::string format : {"perfetto", "prometheus", "csv", "json"}) {
    EXPECT_NE(exported({folder(), "--to", format, "-o", place("a.db")}).code, cli::ExitCode::Done);
    EXPECT_EQ(fs::file_size(place("a.db")), size) << format;
  }
}

TEST_F(Export, WhatCannotBeReadOrWrittenIsOneLine) {
  for (const std::string& wrong : {folder() + "/none", std::string("/dev/null")}) {
    const fakes::CliRun run = exported({wrong, "--to", "json"});
    EXPECT_EQ(run.code, cli::ExitCode::Failed);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, AllOf(StartsWith("chokepoint: export: "), HasSubstr(wrong)));
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1);
  }
  for (const char* format : {"json", "csv", "perfetto", "prometheus"}) {
    const fakes::CliRun run = exported({folder(), "--to", format, "-o", place("none/there")});
    EXPECT_EQ(run.code, cli::ExitCode::Failed);
    EXPECT_THAT(run.err, HasSubstr("none/there"));
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1);
  }
  EXPECT_EQ(exported({folder(), "--to", "csv", "-o", place("a.db")}).code, cli::ExitCode::Failed);
  EXPECT_EQ(exported({folder(), "--send", "http://127.0.0.1:1"}).code, cli::ExitCode::Failed);
  EXPECT_EQ(exported({folder(), "--to", "json", "-o", folder()}).code, cli::ExitCode::Failed);
}

TEST_F(Export, AFullDiskIsAnError) {
  const fakes::CliRun run = exported({folder(), "--to", "json", "-o", "/dev/full"});
  EXPECT_EQ(run.code, cli::ExitCode::Failed);
  EXPECT_THAT(run.err, HasSubstr("/dev/full"));
}

TEST_F(Export, OneRecordOfManyThatIsBrokenIsTold) {
  std::ofstream(run_.folder() / "b.db") << "no database";
  const fakes::CliRun run = exported({folder(), "--to", "json"});
  EXPECT_EQ(run.code, cli::ExitCode::Done);
  EXPECT_THAT(run.err, HasSubstr("b.db"));
  EXPECT_EQ(json::parse(run.out)["nodes"].size(), 1U);
}

TEST_F(Export, CtrlCLeavesNoFile) {
  RunMaker large;  // enough rows to look up from them
  NodeMaker& node = large.node({});
  node.traffic(node.flow("10.0.0.1:4000", "10.0.0.2:5000"), record::Direction::AToB,
               {.from_ms = 0, .to_ms = 9000, .bytes_per_s = 1e6, .bin_ms = 1});
  large.finish();
  for (const char* format : {"perfetto", "csv", "json", "prometheus"}) {
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &interrupt, &before);
    raise(SIGINT);
    const fakes::CliRun run =
        exported({large.folder().string(), "--to", format, "-o", place("stopped")});
    const timespec now{};
    sigtimedwait(&interrupt, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (std::string_view(format) != "prometheus") {  // which reads no packets
      EXPECT_EQ(run.code, cli::ExitCode::Interrupted) << format;
      EXPECT_THAT(run.err, HasSubstr("stopped"));
    }
    EXPECT_EQ(fs::exists(place("stopped")), run.code == cli::ExitCode::Done);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(run_.folder()), {}), 2);
}

TEST_F(Export, ATraceIsNothingForATerminal) {
  std::ostringstream out;
  std::ostringstream err;
  const fakes::ManualClock clock;
  cli::Context context{.out = out,
                       .err = err,
                       .clock = clock,
                       .root = sys::Root("/nowhere"),
                       .environment = [](const std::string&) { return std::nullopt; },
                       .out_terminal = {.interactive = true},
                       .err_terminal = {}};
  const cli::Program program{.name = "chokepoint",
                             .version = "0",
                             .purpose = "test",
                             .sections = cli::one_section({export_command()})};
  EXPECT_EQ(cli::dispatch(program, {"export", folder(), "--to", "perfetto"}, context),
            cli::ExitCode::Usage);
  EXPECT_EQ(out.str(), "");
}

}  // namespace
}  // namespace chokepoint::analysis
