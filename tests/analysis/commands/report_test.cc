#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "analysis/commands/commands.h"
#include "analysis/commands/text_views.h"
#include "tests/analysis/commands/made_pair.h"
#include "tests/fakes/golden.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

fakes::CliRun report(std::vector<std::string> words) {
  words.insert(words.begin(), "report");
  return run_command(report_command(), words);
}

std::string content_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(ReportCommand, WritesAPageIntoTheRunsFolder) {
  MadePair pair;
  const fakes::CliRun run = report({pair.folder()});
  ASSERT_EQ(run.code, cli::ExitCode::Done) << run.err;
  const fs::path page = fs::path(pair.folder()) / "report.html";
  EXPECT_THAT(run.err, HasSubstr(page.string()));
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(content_of(page),
              AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("chokepoint.report/1"),
                    HasSubstr("lan-bandwidth")));
  // A page beside the records is no record.
  EXPECT_EQ(report({pair.folder()}).code, cli::ExitCode::Done);
}

TEST(ReportCommand, WritesWhatTheFilesEndingSays) {
  MadePair pair;
  const fs::path folder = pair.folder();
  for (const auto& [name, begin] : {std::pair("a.md", "# "), std::pair("a.txt", "lan-bandwidth"),
                                    std::pair("a.json", "{"), std::pair("a.html", "<!DOCTYPE")}) {
    const fs::path file = folder / name;
    ASSERT_EQ(report({folder, "-o", file, "--quiet"}).code, cli::ExitCode::Done);
    EXPECT_THAT(content_of(file), StartsWith(begin)) << name;
  }
}

// What a page says of the folder of made records is not the same twice.
std::string without_folder(std::string page, const std::string& folder) {
  for (std::size_t at = page.find(folder); at != std::string::npos; at = page.find(folder)) {
    page.replace(at, folder.size(), "RUN");
  }
  return page;
}

TEST(ReportCommand, PictureOfTextAndMarkdown) {
  MadePair pair;
  const std::string folder = pair.folder();
  EXPECT_GOLDEN("report_text", without_folder(report({folder, "--format", "text"}).out, folder));
  EXPECT_GOLDEN("report_markdown",
                without_folder(report({folder, "--format", "markdown"}).out, folder));
}

TEST(ReportCommand, OneFolderTakesThePagesOfSeveralRuns) {
  MadePair one;
  MadePair other;
  const auto pages = *record::PrivateFolder::make();
  const fakes::CliRun run = report({one.folder(), other.folder(), "-o", pages.path()});
  EXPECT_EQ(run.code, cli::ExitCode::Done) << run.err;
  EXPECT_EQ(std::distance(fs::directory_iterator(pages.path()), {}), 2);
  // Another way to write the first one's path: its page would be lost.
  EXPECT_EQ(report({one.folder(), one.folder() + "/", "-o", pages.path()}).code,
            cli::ExitCode::Usage);
}

TEST(ReportCommand, SaysInOneLineWhatCannotBeDone) {
  MadePair pair;
  const std::string folder = pair.folder();
  const auto one_line = [](const fakes::CliRun& run) {
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
    EXPECT_EQ(run.out, "");
  };
  const fakes::CliRun none = report({folder + "/none"});
  EXPECT_EQ(none.code, cli::ExitCode::Failed);
  one_line(none);
  const fakes::CliRun place = report({folder, "-o", folder + "/none/a.html"});
  EXPECT_EQ(place.code, cli::ExitCode::Failed);
  EXPECT_THAT(place.err, HasSubstr("-o"));
  one_line(place);
  EXPECT_EQ(report({folder, folder, "--json"}).code, cli::ExitCode::Usage);
  EXPECT_EQ(report({folder, folder, "-o", folder + "/a.html"}).code, cli::ExitCode::Usage);
  EXPECT_EQ(report({folder, "--wan-rtt-ms", "0"}).code, cli::ExitCode::Usage);
  EXPECT_EQ(report({}).code, cli::ExitCode::Usage);
  EXPECT_EQ(report({folder, "--format", "pdf"}).code, cli::ExitCode::Usage);
  for (const fakes::CliRun& run :
       {report({folder, "-o", folder + "/x.pdf"}),
        report({folder, "--format", "text", "-o", folder + "/x.html"})}) {
    EXPECT_EQ(run.code, cli::ExitCode::Usage);
    one_line(run);
  }
  EXPECT_FALSE(fs::exists(folder + "/x.pdf") || fs::exists(folder + "/x.html"));
}

TEST(ReportCommand, NeverTakesTheRecordsPlace) {
  MadePair pair;
  const std::string record = pair.folder() + "/a.db";
  const std::string before = content_of(record);
  const fakes::CliRun run = report({pair.folder(), "-o", record});
  EXPECT_EQ(run.code, cli::ExitCode::Usage);
  EXPECT_THAT(run.err, HasSubstr(record));
  EXPECT_EQ(content_of(record), before);
}

TEST(ReportCommand, ARunWithoutStepsHasAPage) {
  RunMaker run;
  run.node({.name = "a"});
  run.finish();
  const fakes::CliRun told = report({run.folder(), "--json"});
  ASSERT_EQ(told.code, cli::ExitCode::Done) << told.err;
  const json document = json::parse(told.out);
  EXPECT_TRUE(document["accounting"].is_null());
  EXPECT_TRUE(document["flows"].empty());
  EXPECT_EQ(document["diagnosis"]["verdict"]["class"], "unknown");
  EXPECT_EQ(report({run.folder()}).code, cli::ExitCode::Done);
  EXPECT_EQ(report({run.folder(), "--format", "text"}).code, cli::ExitCode::Done);
}

TEST(ReportCommand, NamesThatLookLikeMarkupStayNames) {
  const std::string evil = "</script><script>alert(1)</script>\"'\n| x `y` [z](javascript:1)";
  MadePair pair({.name = "a<img src=x onerror=alert(1)>",
                 .command = {"train", evil, "\xff\xfe", std::string("\x1b[31mred\x07")}});
  pair.a->add(record::Label{.key = evil, .value = evil});
  pair.a->event(50, evil, evil, "not json \xc3\x28");
  const std::string folder = pair.folder();
  const fakes::CliRun page = report({folder, "-o", "-", "--format", "html"});
  ASSERT_EQ(page.code, cli::ExitCode::Done) << page.err;
  EXPECT_THAT(page.out, AllOf(Not(HasSubstr("<script>alert")), Not(HasSubstr("<img"))));
  const json document = json::parse(report({folder, "--json"}).out);
  EXPECT_EQ(document["diagnosis"]["labels"][evil], evil);
  const std::string markdown = report({folder, "--format", "markdown"}).out;
  EXPECT_THAT(markdown, AllOf(Not(HasSubstr("<script>alert")), Not(HasSubstr("[z](java")),
                              Not(HasSubstr("\x1b"))));
  const std::string text = report({folder, "--format", "text"}).out;
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\x07"))));
}

std::vector<std::string> only_connection(const FlowLine& flow) {
  Report report;
  report.flows.flows.push_back(flow);
  const std::vector<Section> sections = sections_of(report);
  const auto found = std::ranges::find(sections, std::string("Connections"), &Section::title);
  return found == sections.end() ? std::vector<std::string>() : found->table.rows.at(0);
}

TEST(ReportSections, WhatIsUnknownIsNoNumber) {
  FlowLine flow{.sides = {FlowSide{.name = "a"}, FlowSide{.name = "b"}}};
  EXPECT_THAT(only_connection(flow), ElementsAre("a", "b", "–", "–", "–", "–"));
  flow.directions[1].retransmitted_packets = 0;
  EXPECT_EQ(only_connection(flow).at(4), "0");
  flow.directions[0].retransmitted_packets = 3;
  EXPECT_EQ(only_connection(flow).at(4), "3");
}

}  // namespace
}  // namespace chokepoint::analysis
