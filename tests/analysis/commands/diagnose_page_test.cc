#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/commands/diagnose.h"
#include "base/cli/text.h"
#include "tests/analysis/commands/made_diagnosis.h"
#include "tests/fakes/golden.h"
#include "tests/fakes/page_rows.h"

namespace chokepoint::analysis {
namespace {

using fakes::labels_of;
using fakes::row;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;
using testing::StartsWith;

constexpr cli::Terminal kWide{.width = 400};
constexpr cli::Terminal kNarrow{.width = 80};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string page_of(const Diagnosis& diagnosis, const cli::Terminal& terminal = kWide) {
  std::ostringstream out;
  print_page(out, terminal, diagnosis);
  return out.str();
}

std::string details_of(const Diagnosis& diagnosis, const cli::Terminal& terminal = kWide) {
  std::ostringstream out;
  print_details(out, terminal, diagnosis);
  return out.str();
}

Diagnosis tested_link() {
  Diagnosis diagnosis = full_link();
  diagnosis.confirmation = {
      .state = Confirmation::State::Confirmed,
      .sentence = "confirmed: probe tcp carries 198 Mb/s alone",
      .confidence_before = 0.92,
      .tests = {{.kind = TestKind::Throughput,
                 .on = "a",
                 .to = "b",
                 .support = Support::For,
                 .sentence = "probe tcp carries 198 Mb/s alone"},
                {.kind = TestKind::OtherRoute, .on = "a", .to = "b", .failure = "no route"}}};
  diagnosis.verdict.confidence = 0.97;
  return diagnosis;
}

TEST(DiagnosePage, PictureInBrief) { EXPECT_GOLDEN("diagnose", page_of(tested_link(), kNarrow)); }

TEST(DiagnosePage, PictureOfDetails) {
  EXPECT_GOLDEN("diagnose_all", details_of(tested_link(), kNarrow));
}

TEST(DiagnosePage, OfAnUnknownVerdictSaysWhichTestsMayTell) {
  Diagnosis diagnosis = full_link();
  diagnosis.verdict = {};
  diagnosis.plan = {{.on = "a", .time_s = 2, .command = "chokepoint ask 10.0.0.1 tcp"},
                    {.on = "b", .time_s = 1}};
  const std::string tests = row(page_of(diagnosis), "test").value_or("");
  for (const char* field : {"2 tests", "a, b", "3 s", "chokepoint diagnose runs/a --confirm"}) {
    EXPECT_THAT(tests, HasSubstr(field));
  }
  EXPECT_THAT(details_of(diagnosis), HasSubstr(diagnosis.plan[0].command));
}

TEST(DiagnosePage, IsFiveLines) {
  EXPECT_THAT(labels_of(page_of(full_link())),
              ElementsAre("lan-bandwidth:", "step", "why", "do", "confidence"));
}

TEST(DiagnosePage, FitsANarrowTerminalWithCommandsInOnePiece) {
  Diagnosis diagnosis = full_link();
  diagnosis.verdict.evidence[0].what = "throughput from a to b in the middle half of the steps";
  const std::vector<std::string> lines = lines_of(page_of(diagnosis, kNarrow));
  EXPECT_GT(lines.size(), 5U);
  for (const std::string& line : lines) {
    EXPECT_LE(cli::width_of(line), 80U) << line;
  }
  EXPECT_THAT(lines,
              testing::Contains(std::string(13, ' ') + "chokepoint predict --from DIR --link 1G"));
}

TEST(DiagnosePage, AHealthyRunRaisesNoAlarm) {
  Diagnosis diagnosis = full_link();
  diagnosis.verdict = {.verdict = VerdictClass::Compute, .confidence = 0.9};
  *diagnosis.accounting = {};
  (*diagnosis.accounting)[Account::Compute] = 98;
  (*diagnosis.accounting)[Account::Latency] = 2;
  const std::string page = page_of(diagnosis, {.color = true, .width = 400});
  EXPECT_THAT(page, StartsWith("\033[32mcompute\033[0m: "));
  EXPECT_THAT(lines_of(page).front(), HasSubstr("2.00 ms of a step's 100 ms (2 %)"));
}

TEST(DiagnosePage, WhatIsNotKnownIsNotSaid) {
  const std::string page = page_of({.run = "runs/a"});
  EXPECT_THAT(labels_of(page), ElementsAre("unknown:", "step", "why", "do", "confidence"));
  EXPECT_THAT(page, Not(HasSubstr(" ms")));
}

TEST(DiagnosePage, WhereThereIsNoEvidenceItSaysWhatIsMissing) {
  const std::string page =
      page_of({.run = "runs/a", .missing = {"no steps were found on a", "no record of rank 1"}});
  EXPECT_EQ(row(page, "why"), "no steps were found on a; no record of rank 1");
  EXPECT_THAT(row(page, "confidence"), Optional(StartsWith("0 %;")));
}

TEST(DiagnosePage, NothingLostIsNotTold) {
  Diagnosis diagnosis = full_link();
  diagnosis.verdict = {
      .verdict = VerdictClass::Unknown, .cause = Cause::RankGone, .where = {.rank = 1}};
  EXPECT_THAT(lines_of(page_of(diagnosis)).front(),
              AllOf(StartsWith("unknown: rank 1 "), Not(HasSubstr(" ms"))));
}

TEST(DiagnosePage, HasColourOnATerminalOnly) {
  EXPECT_THAT(page_of(full_link()), Not(HasSubstr("\033")));
  EXPECT_THAT(page_of(full_link(), {.color = true, .width = 400}),
              StartsWith("\033[31mlan-bandwidth\033[0m: the link"));
}

TEST(DiagnosePage, DetailsOfNothingAreEmpty) { EXPECT_EQ(details_of({}), ""); }

TEST(DiagnosePage, ShellsTakeTheFolderAsItIs) {
  Diagnosis diagnosis = full_link();
  diagnosis.run = "my runs/a";
  EXPECT_THAT(page_of(diagnosis), HasSubstr("chokepoint diagnose 'my runs/a' --all"));
}

TEST(DiagnoseWords, PartsAreWrittenAsTheWholeIs) {
  EXPECT_EQ(whole_text(205.5), "205.5 ms");
  EXPECT_EQ(part_text(2, 205.5), "2.0");
  EXPECT_EQ(whole_text(5.25), "5.25 ms");
  EXPECT_EQ(whole_text(20'500), "20.50 s");
  EXPECT_EQ(part_text(500, 20'500), "0.50");
}

TEST(DiagnoseWords, EvidenceOfOneSourceNamesItOnce) {
  const std::vector<Evidence> evidence = full_link().verdict.evidence;
  EXPECT_EQ(evidence_text(evidence, 3),
            "throughput from a to b 197 Mb/s, the link carries 200 Mb/s (socket samples of "
            "a), round trip while it was full 12.2 ms (packets of b)");
  EXPECT_EQ(evidence_text({}, 3), "");
  EXPECT_EQ(evidence_text({{.what = "eth1 is not used"}}, 3), "eth1 is not used");
}

TEST(DiagnoseDetails, OfManyRanksThoseThatComputeLongestAreShown) {
  Diagnosis diagnosis = full_link();
  diagnosis.ranks.clear();
  for (std::int64_t rank = 0; rank < 64; ++rank) {
    diagnosis.ranks.push_back(
        {.rank = rank, .node = "n", .computing_ms = rank == 37 ? 480.0 : 360.0});
  }
  const std::string details = details_of(diagnosis);
  EXPECT_THAT(details, HasSubstr("480 ms"));
  EXPECT_THAT(details, HasSubstr("16 of 64 ranks"));
  EXPECT_THAT(details, Not(HasSubstr("  63  ")));
}

std::string path_of(const CriticalPath& path, const std::vector<RankFigures>& ranks) {
  std::ostringstream out;
  print_critical_path(out, kNarrow, path, ranks);
  return out.str();
}

TEST(CriticalPathPage, OfManyRanksThoseOnThePathAreShown) {
  const CriticalPath path = *full_link().critical_path;
  EXPECT_THAT(path_of(path, full_link().ranks), HasSubstr("rank 0 on a"));
  const std::string of_many = path_of(path, std::vector<RankFigures>(64));
  EXPECT_THAT(of_many, Not(HasSubstr("rank 0 on")));
  EXPECT_THAT(of_many, HasSubstr("rank 1 on b"));
  EXPECT_THAT(of_many, HasSubstr("64 ranks"));
}

TEST(CriticalPathPage, APartOfARankThatIsNotKnownIsShown) {
  const CriticalPath path{.step = 3, .length_ms = 10, .parts = {{.ms = 10}}};
  EXPECT_THAT(path_of(path, {}), HasSubstr("a rank computes for 10.0 ms (100 %)"));
}

}  // namespace
}  // namespace chokepoint::analysis
