// `chokepoint compare` as a command: arguments, forms, exit codes, and what it makes of bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/analysis/compare/made_records.h"
#include "tests/fakes/golden.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

class Compare : public testing::Test {
 protected:
  std::string add(const MadeRecord& record) { return runs_.add(record); }
  void add_five(const std::map<std::string, std::string>& labels, double step_ms,
                double copying_ms = 0) {
    for (const double off : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
      add({.labels = labels,
           .nodes = copying_ms > 0 ? 2 : 1,
           .step_ms = step_ms + off,
           .copying_ms = copying_ms});
    }
  }
  fakes::CliRun compare(const Words& options = {}) const {
    return run_compare(runs_.folders(), options);
  }
  json document(const Words& options = {}) const {
    Words with_json = options;
    with_json.emplace_back("--json");
    const fakes::CliRun run = compare(with_json);
    return run.code == cli::ExitCode::Failed ? json() : json::parse(run.out);
  }
  std::string file(const std::string& name) const { return (place_.path() / name).string(); }
  static std::string content(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  MadeRecords runs_;
  record::PrivateFolder place_ = std::move(*record::PrivateFolder::make());
};

TEST_F(Compare, PictureOfARegressionWithItsCause) {
  add_five({{"net", "1G"}}, 100, 40);
  add_five({{"net", "2G"}}, 120, 60);
  const json told = document();
  EXPECT_EQ(told["schema"], "chokepoint.comparison/1");
  EXPECT_EQ(told["regressions"], json::array({1}));
  const json& difference = told.at("groups").at(1).at("difference");
  EXPECT_EQ(difference["test"], "mann-whitney");
  EXPECT_EQ(difference["is_worse"], true);
  EXPECT_EQ(difference.at("causes").at(0).at("account"), "latency");
  EXPECT_NEAR(difference["causes"].at(0)["share_percent"], 100, 15);
  EXPECT_NEAR(difference["change_percent"], 20, 0.1);
  EXPECT_GOLDEN("compare", compare().out);
}

TEST_F(Compare, TheExitCodeTellsARegression) {
  add_five({{"net", "1G"}}, 100);
  add_five({{"net", "2G"}}, 120);
  EXPECT_EQ(compare().code, cli::ExitCode::Done);
  EXPECT_EQ(compare({"--exit-code"}).code, cli::ExitCode::Found);
  EXPECT_EQ(compare({"--exit-code", "--least", "30"}).code, cli::ExitCode::Done);
  // Seen from the other side it got better.
  EXPECT_EQ(compare({"--exit-code", "--baseline", "net=2G"}).code, cli::ExitCode::Done);
}

TEST_F(Compare, AFolderStandsForAllRunsBelowIt) {
  const fs::path parent = file("runs");
  for (const char* place : {"before/10", "before/9", "after/1/deep"}) {
    fs::create_directories(parent / place);
    const std::string made = add({.step_ms = 100});
    fs::copy(made, parent / place, fs::copy_options::recursive);
  }
  fs::create_directory_symlink(parent, parent / "before" / "loop");
  const auto told = [&](const Words& folders) {
    return json::parse(run_compare(folders, {"--json"}).out);
  };
  EXPECT_EQ(told({parent.string()})["runs"].size(), 3);
  const json two = told({(parent / "before/").string(), (parent / "after").string()});
  EXPECT_EQ(two["by"], json::array({"folder"}));
  EXPECT_EQ(two["groups"].at(0)["name"], "before");
  EXPECT_EQ(two["runs"].at(0)["path"], (parent / "before/9").string());
  // Given twice it counts once.
  EXPECT_EQ(told({parent.string(), (parent / "before" / "9").string()})["runs"].size(), 3);
}

TEST_F(Compare, ABaselineThatIsAFolder) {
  const std::string one = add({.step_ms = 100});
  const std::string other = add({.step_ms = 130});
  const json told = document({"--baseline", other});
  EXPECT_EQ(told["groups"].at(0)["difference"]["baseline"], 1);
  // One that was not among the others is read, too.
  const json added = json::parse(run_compare({one}, {"--baseline", other, "--json"}).out);
  EXPECT_EQ(added["groups"].size(), 2);
  EXPECT_EQ(added["groups"].at(1)["difference"]["baseline"], 0);
}

TEST_F(Compare, ARunThatCannotBeReadDoesNotHideTheOthers) {
  add({.step_ms = 100});
  const std::string broken = file("broken");
  fs::create_directory(broken);
  std::ofstream(broken + "/a.db") << "this is no record at all, but long enough to look at";
  Words folders = runs_.folders();
  folders.push_back(broken);
  folders.push_back(file("none"));
  const fakes::CliRun run = run_compare(folders);
  EXPECT_EQ(run.code, cli::ExitCode::Done);
  EXPECT_EQ(std::ranges::count(run.err, '\n'), 2);
  EXPECT_THAT(run.err, AllOf(testing::StartsWith("chokepoint: compare: "), HasSubstr(broken)));
  EXPECT_THAT(run.out, HasSubstr("left out: " + broken));
  const json told = json::parse(run_compare(folders, {"--json"}).out);
  EXPECT_EQ(told["runs"].size(), 1);
  EXPECT_EQ(told["left_out"].at(1)["path"], file("none"));
}

TEST_F(Compare, NothingThatCouldBeRead) {
  for (const std::string& place : {file("none"), place_.path().string()}) {
    const fakes::CliRun run = run_compare({place}, {"--json"});
    EXPECT_EQ(run.code, cli::ExitCode::Failed);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, AllOf(HasSubstr("chokepoint: compare: "), HasSubstr(place)));
  }
}

TEST_F(Compare, WrongUsageIsOneLine) {
  add({});
  for (const Words& options :
       {Words{"--by", "color"}, Words{"--show", "color"}, Words{"--metric", "color"},
        Words{"--bars", "color"}, Words{"--metric", "scaling_factor"}, Words{"--sort", "color"},
        Words{"--least", "-1"}, Words{"--baseline", "color"}, Words{"--baseline", "setup=9x9"},
        Words{"-o", "x.pdf"}, Words{"-o", "x.db"}, Words{"--format", "pdf"}, Words{"-o", "/"}}) {
    const fakes::CliRun run = compare(options);
    EXPECT_EQ(run.code, cli::ExitCode::Usage) << options.back();
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
  EXPECT_EQ(run_compare({}).code, cli::ExitCode::Usage);
}

TEST_F(Compare, ASingleRun) {
  add({.labels = {{"setup", "1x1"}}});
  const json told = document();
  EXPECT_EQ(told["groups"].size(), 1);
  EXPECT_EQ(told["groups"].at(0)["difference"], nullptr);
  EXPECT_EQ(told["groups"].at(0)["figures"]["step_ms"]["sd"], nullptr);
  EXPECT_EQ(compare({"--exit-code"}).code, cli::ExitCode::Done);
}

TEST_F(Compare, RunsThatTellNothing) {
  add({.steps = 0, .duration_s = 1});
  add({.steps = 0, .duration_s = 1});
  const json told = document({"--by", "path"});
  EXPECT_EQ(told["groups"].at(1)["figures"]["step_ms"], nullptr);
  EXPECT_EQ(told["groups"].at(1)["difference"]["change_percent"], nullptr);
  EXPECT_EQ(told["groups"].at(1)["verdict"]["lost_ms_per_step"], nullptr);
  EXPECT_THAT(compare({"--by", "path", "--show", "step_ms,change,verdict"}).out,
              HasSubstr("no steps"));
}

TEST_F(Compare, ColumnsThatWereAskedForStandEvenWhereNobodyTells) {
  add({});
  const std::string out = compare({"--show", "gpu_memory_bytes,runs"}).out;
  EXPECT_THAT(out, AllOf(HasSubstr("GPU memory MiB"), HasSubstr("runs"), HasSubstr("–"),
                         Not(HasSubstr("step"))));
}

TEST_F(Compare, WritesFilesByTheirEnding) {
  add({.labels = {{"setup", "1x1"}}});
  for (const auto& [name, start] :
       {std::pair{"t.md", "| Setup"}, std::pair{"t.csv", "setup,"}, std::pair{"t.txt", "setup  "},
        std::pair{"t.json", "{\n  \"schema\""}}) {
    const fakes::CliRun run = compare({"-o", file(name)});
    EXPECT_EQ(run.code, cli::ExitCode::Done);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(content(file(name)), testing::StartsWith(start));
  }
  // What stood there before is replaced, and with --json the document is still on standard output.
  EXPECT_EQ(json::parse(compare({"-o", file("t.md"), "--json"}).out)["groups"].size(), 1);
  EXPECT_EQ(compare({"-o", file("t.md"), "-q"}).err, "");
  EXPECT_THAT(compare({"-o", "-", "--format", "csv"}).out, testing::StartsWith("setup,"));
}

TEST_F(Compare, PlacesThatCannotBeWritten) {
  add({});
  const fakes::CliRun run = compare({"-o", file("none/t.md")});
  EXPECT_EQ(run.code, cli::ExitCode::Failed);
  EXPECT_THAT(run.err, HasSubstr("none/t.md"));
  fs::create_directory(file("folder.md"));
  EXPECT_EQ(compare({"-o", file("folder.md")}).code, cli::ExitCode::Usage);
}

TEST_F(Compare, HostileNamesStayText) {
  const std::string hostile = "<script>alert('1')</script>|\n=1+1\x1b[31m\xff\xe2\x80\xae\"";
  add({.labels = {{hostile, hostile}, {"setup", "=cmd()|x"}, {"unit", hostile}}, .samples = 3});
  add({.labels = {{hostile, "b"}, {"setup", "2x1"}, {"unit", hostile}}, .samples = 3});
  const std::string text = compare().out;
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\xff")), HasSubstr("2x1")));
  const std::string markdown = compare({"--format", "markdown"}).out;
  EXPECT_THAT(markdown, AllOf(Not(HasSubstr("<script")), HasSubstr("&lt;script&gt;"),
                              Not(HasSubstr("\n=1+1"))));
  const std::string csv = compare({"--format", "csv"}).out;
  EXPECT_THAT(csv, AllOf(Not(HasSubstr("\n=cmd")), HasSubstr("'=cmd()|x")));
  EXPECT_TRUE(json::accept(compare({"--json"}).out));
}

TEST_F(Compare, APageForABrowserIsOneFile) {
  add({.labels = {{"setup", "</script><script>alert(1)</script>"}}});
  const fakes::CliRun run = compare({"-o", file("t.html")});
  if (run.err.find("npm was missing") != std::string::npos) {
    GTEST_SKIP() << "built without npm";
  }
  EXPECT_EQ(run.code, cli::ExitCode::Done) << run.err;
  EXPECT_THAT(content(file("t.html")),
              AllOf(HasSubstr("data-view=\"comparison\""), HasSubstr("chokepoint.comparison/1"),
                    Not(HasSubstr("<script>alert"))));
}

TEST_F(Compare, EveryLineOfCsvHasAsManyFields) {
  add_five({{"net", "1G"}}, 100);
  add({.labels = {{"net", "2G"}}, .steps = 0, .duration_s = 1});
  const std::string csv = compare({"--format", "csv"}).out;
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  const auto commas = std::ranges::count(line, ',');
  int count = 0;
  for (; std::getline(lines, line); ++count) {
    EXPECT_EQ(std::ranges::count(line, ','), commas);
    EXPECT_TRUE(line.ends_with('\r'));
  }
  EXPECT_EQ(count, 2);
}

}  // namespace
}  // namespace chokepoint::analysis
