// What makes rows, in which order they stand, and what they are called.
#include "analysis/compare/keys.h"

#include <gtest/gtest.h>

#include "tests/analysis/compare/made_comparison.h"

namespace chokepoint::analysis {
namespace {

using Names = std::vector<std::string>;

Comparison compared(std::vector<ComparedRun> runs, const CompareOptions& options = {}) {
  return *compare(std::move(runs), options);
}

TEST(Order, NumbersBySize) {
  EXPECT_TRUE(natural_order("2x1", "10x1") < 0);
  EXPECT_TRUE(natural_order("e-15-6-2", "e-15-15") < 0);
  EXPECT_TRUE(natural_order("a9", "a10") < 0);
  EXPECT_TRUE(natural_order("99999999999999999999998", "99999999999999999999999") < 0);
  EXPECT_TRUE(natural_order("", "a") < 0);
  EXPECT_TRUE(natural_order("same", "same") == 0);
}

TEST(Keys, LabelsThatDifferAndThoseOfASetup) {
  const std::vector<ComparedRun> runs{
      made_run({{"setup", "2x1"}, {"model", "gpt2"}, {"host", "x"}, {"repetition", "1"}}, 100),
      made_run({{"setup", "2x1"}, {"model", "vgg"}, {"host", "x"}, {"repetition", "2"}}, 100)};
  EXPECT_EQ(usual_keys(runs), (Names{"model", "setup"}));
}

TEST(Keys, RepetitionsMakeNoRows) {
  std::vector<ComparedRun> runs;
  for (const char* label : {"repetition", "repeat", "rep", "run", "seed", "trial"}) {
    runs = {made_run({{label, "1"}}, 100, "r/1"), made_run({{label, "2"}}, 100, "r/2")};
    EXPECT_EQ(usual_keys(runs), Names{}) << label;
    EXPECT_EQ(compared(runs).groups.size(), 1) << label;
  }
}

// `compare before after`: the same labels, the same numbers of repetitions.
TEST(Keys, FoldersMakeRowsWhereNothingElseTellsThemApart) {
  std::vector<ComparedRun> runs;
  for (const char* folder : {"runs/before", "runs/after"}) {
    for (const char* repetition : {"1", "2"}) {
      runs.push_back(made_run({{"setup", "2x1"}, {"repetition", repetition}}, 100, folder));
    }
  }
  EXPECT_EQ(usual_keys(runs), (Names{"folder", "setup"}));
  const Comparison comparison = compared(runs);
  EXPECT_EQ(names_of(comparison), (Names{"before", "after"}));  // as they were given
  EXPECT_EQ(comparison.groups[1].difference->baseline, 0);
}

TEST(Keys, WhatTheRecordTellsWhereNoLabelDoes) {
  ComparedRun run = made_run({}, 100, "runs/a");
  run.gpus = 4;
  EXPECT_EQ(value_of(run, "setup"), "2x2");
  EXPECT_EQ(value_of(run, "nodes"), "2");
  EXPECT_EQ(value_of(run, "gpus_per_node"), "2");
  EXPECT_EQ(value_of(run, "gpus"), "4");
  EXPECT_EQ(value_of(run, "verdict"), "unknown");
  EXPECT_EQ(value_of(run, "folder"), "runs/a");
  EXPECT_EQ(value_of(run, "color"), std::nullopt);
  run.gpus = 3;  // on two nodes
  EXPECT_EQ(value_of(run, "setup"), std::nullopt);
  run.labels["setup"] = "odd";
  EXPECT_EQ(value_of(run, "setup"), "odd");
}

TEST(Keys, SetupsThatAreNone) {
  for (const char* setup : {"2x", "x2", "0x1", "-1x2", "2x1x3", "99999999x2", "", "two"}) {
    EXPECT_FALSE(setup_of({{"setup", setup}})) << setup;
  }
  EXPECT_EQ(setup_of({{"setup", "2X4"}})->each, 4);
  EXPECT_EQ(setup_of({{"nodes", "3"}, {"gpus_per_node", "2"}})->nodes, 3);
}

TEST(Rows, StandByTheirKeys) {
  std::vector<ComparedRun> runs;
  for (const char* setup : {"10x1", "2x1"}) {
    for (const char* kind : {"Pipeline", "Data", "Tensor"}) {
      runs.push_back(made_run({{"setup", setup}, {"parallelism", kind}}, 100));
    }
  }
  EXPECT_EQ(names_of(compared(runs)), (Names{"2x1 Data", "2x1 Tensor", "2x1 Pipeline", "10x1 Data",
                                             "10x1 Tensor", "10x1 Pipeline"}));
}

TEST(Rows, WithAndWithoutALabel) {
  const Comparison comparison = compared(
      {made_run({{"setup", "2x1"}, {"batch", "8"}}, 100), made_run({{"setup", "1x1"}}, 100)});
  EXPECT_EQ(names_of(comparison), (Names{"1x1", "2x1 8"}));
  EXPECT_EQ(comparison.groups[0].values[1], std::nullopt);
}

TEST(Rows, SortedByAFigure) {
  std::vector<ComparedRun> runs{made_run({{"setup", "1x1"}}, 100),
                                made_run({{"setup", "1x2"}}, 300),
                                made_run({{"setup", "2x1"}}, 200)};
  runs.push_back(made_run({{"setup", "2x2"}}, 0));
  runs.back().figures = {};
  CompareOptions options{.sort = "step_ms"};
  Comparison comparison = compared(runs, options);
  EXPECT_EQ(names_of(comparison), (Names{"1x1", "2x1", "1x2", "2x2"}));
  options.is_reversed = true;
  comparison = compared(runs, options);
  EXPECT_EQ(names_of(comparison), (Names{"1x2", "2x1", "1x1", "2x2"}));
  // Numbers of rows and runs went with them.
  EXPECT_TRUE(comparison.groups[2].is_baseline);
  EXPECT_EQ(comparison.groups[0].difference->baseline, 2);
  EXPECT_EQ(comparison.runs[comparison.groups[0].runs.front()].labels["setup"], "1x2");
}

TEST(Rows, WrongWordsAreUsageErrors) {
  const std::vector<ComparedRun> runs{made_run({{"setup", "1x1"}}, 100)};
  for (const CompareOptions& options :
       {CompareOptions{.keys = {"color"}}, CompareOptions{.sort = "color"},
        CompareOptions{.baseline = Condition{{"setup", "3x1"}}}}) {
    const Result<Comparison> comparison = compare(runs, options);
    ASSERT_FALSE(comparison);
    EXPECT_EQ(comparison.error().kind, ErrorKind::Usage);
    EXPECT_FALSE(comparison.error().next_step.empty());
  }
}

TEST(Baselines, TheSameButForWhatIsNamed) {
  std::vector<ComparedRun> runs;
  for (const char* kernel : {"5.15", "6.1"}) {
    for (const char* setup : {"1x1", "2x1"}) {
      runs.push_back(made_run({{"kernel", kernel}, {"setup", setup}}, 100));
    }
  }
  const Comparison comparison = compared(runs, {.baseline = Condition{{"kernel", "5.15"}}});
  EXPECT_EQ(names_of(comparison), (Names{"5.15 1x1", "5.15 2x1", "6.1 1x1", "6.1 2x1"}));
  EXPECT_FALSE(comparison.groups[0].difference);
  EXPECT_FALSE(comparison.groups[1].difference);
  EXPECT_EQ(comparison.groups[2].difference->baseline, 0);
  EXPECT_EQ(comparison.groups[3].difference->baseline, 1);
}

TEST(Baselines, TheOnlyRowThatIsNamed) {
  const Comparison comparison = compared(
      {made_run({{"setup", "1x1"}}, 100), made_run({{"setup", "2x1"}, {"parallelism", "TP"}}, 100),
       made_run({{"setup", "2x1"}, {"parallelism", "DP"}}, 100)},
      {.baseline = Condition{{"setup", "1x1"}}});
  EXPECT_EQ(comparison.groups[1].difference->baseline, 0);
  EXPECT_EQ(comparison.groups[2].difference->baseline, 0);
}

TEST(Rows, AreCalledByWhatDiffers) {
  const Comparison comparison = compared({made_run({{"setup", "2x1"}}, 100, "/x/runs/a/records"),
                                          made_run({{"setup", "2x1"}}, 100, "/x/runs/b/records")});
  EXPECT_EQ(names_of(comparison), (Names{"a/records", "b/records"}));
  EXPECT_EQ(names_of(compared({made_run({{"setup", "2x1"}}, 100, "r")})), (Names{"2x1"}));
}

TEST(Rows, TheSameIsSaidOnce) {
  std::vector<ComparedRun> runs;
  for (const char* path : {"a", "b", "c", "d", "e"}) {
    runs.push_back(made_run({{"seed", path}}, 100, path));
    runs.back().remarks.emplace_back("not watched to the end");
  }
  EXPECT_EQ(compared(runs).remarks, (Names{"not watched to the end: a, b, c and 2 more"}));
}

}  // namespace
}  // namespace chokepoint::analysis
