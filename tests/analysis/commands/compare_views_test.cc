// What is shown of a comparison: units, widths, words, and the document's fields.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "analysis/commands/compare.h"
#include "tests/analysis/compare/made_comparison.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::analysis {
namespace {

using cli::Json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Names = std::vector<std::string>;

std::vector<ComparedRun> runs_of_two() {
  std::vector<ComparedRun> runs;
  for (const double off : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
    for (const double step_ms : {100.0, 120.0}) {
      ComparedRun& run =
          runs.emplace_back(made_run({{"net", step_ms < 110 ? "1G" : "2G"}}, step_ms + off));
      set(run, Figure::NetworkMbps, 900 + off);
      set(run, Figure::VolumeBytes, 5e9);
      set(run, Figure::LostMs, 12);
      run.verdict.verdict = VerdictClass::LanBandwidth;
    }
  }
  return runs;
}

Shown shown(std::vector<ComparedRun> runs, const CompareOptions& options = {}) {
  Shown made{.comparison = *compare(std::move(runs), options)};
  made.columns = usual_columns(made.comparison);
  return made;
}

std::string page(const Shown& shown, int width) {
  std::ostringstream out;
  print_page(out, {.width = width}, shown);
  return out.str();
}

Json document(const Shown& shown) {
  std::ostringstream out;
  const fakes::ManualClock clock;
  const cli::Context context{.out = out,
                             .err = out,
                             .clock = clock,
                             .root = sys::Root("/nowhere"),
                             .environment = [](const std::string&) { return std::nullopt; },
                             .out_terminal = {},
                             .err_terminal = {}};
  return document_of(context, shown);
}

Names keys_of(const Json& object) {
  Names keys;
  for (const auto& [key, value] : object.items()) {
    keys.push_back(key);
  }
  return keys;
}

TEST(CompareViews, WithoutRoomOnlyTheMetricHasItsSpread) {
  const Shown both = shown(runs_of_two());
  EXPECT_THAT(page(both, 120), AllOf(HasSubstr("900.00 ± 0.79"), HasSubstr("100.00 ± 0.79")));
  EXPECT_THAT(page(both, 80), AllOf(Not(HasSubstr("900.00 ±")), HasSubstr("100.00 ± 0.79")));
}

TEST(CompareViews, LinesBelowTheTableFitTheTerminal) {
  const std::string text = page(shown(runs_of_two()), 60);
  std::istringstream lines(text.substr(text.find("\ndifferences\n")));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 60U) << line;
  }
}

TEST(CompareViews, AColumnHasOneUnit) {
  std::vector<ComparedRun> runs;
  for (const double each : {1460.0, 55'010.0, 8870.0}) {
    runs.push_back(made_run({{"setup", std::to_string(each)}, {"unit", "tokens"}}, 100));
    set(runs.back(), Figure::SamplesPerS, each);
    set(runs.back(), Figure::VolumeBytes, each * 1e6);
  }
  const Comparison comparison = *compare(runs, {});
  EXPECT_EQ(scale_of(comparison, Figure::SamplesPerS).unit, "ktokens/s");
  EXPECT_EQ(scale_of(comparison, Figure::VolumeBytes).unit, "GB");
  EXPECT_EQ(scale_of(comparison, Figure::ScalingFactor).unit, "");
}

TEST(CompareViews, SmallNumbersAreNotNothing) {
  const Scale scale{.factor = 1e-9, .unit = "GB"};
  EXPECT_EQ(written(3e5, scale), "0.0003");
  EXPECT_EQ(written(0, scale), "0.00");
  EXPECT_EQ(written(1171.06e9, scale), "1171.06");
}

TEST(CompareViews, WhatAllRowsHaveNeedsNoColumn) {
  std::vector<ComparedRun> runs = runs_of_two();
  for (ComparedRun& run : runs) {
    run.labels["setup"] = "2x1";
  }
  Shown both = shown(runs);
  EXPECT_EQ(table_of(both).columns.front().title, "net");
  EXPECT_EQ(common_keys(both), "setup 2x1");
  both.are_keys_asked = true;
  EXPECT_EQ(table_of(both).columns[1].title, "setup");
  EXPECT_EQ(common_keys(both), "");
}

TEST(CompareViews, VerdictsThatDoNotAgreeAreCounted) {
  std::vector<ComparedRun> runs = runs_of_two();
  runs.front().verdict.verdict = VerdictClass::Straggler;
  EXPECT_THAT(page(shown(runs), 140), AllOf(HasSubstr("lan-bandwidth 12.0 ms (4 of 5)"),
                                            HasSubstr("lan-bandwidth 12.0 ms\n")));
}

TEST(CompareViews, LongLabelsAreCut) {
  std::vector<ComparedRun> runs = runs_of_two();
  runs.front().labels["net"] = std::string(500, 'x');
  EXPECT_THAT(page(shown(runs), 80).substr(0, 400),
              AllOf(HasSubstr("xxx…"), Not(HasSubstr(std::string(50, 'x')))));
}

// As papers draw them: the setups over each batch size.
TEST(CompareViews, Bars) {
  std::vector<ComparedRun> runs;
  for (const char* batch : {"32", "2048"}) {
    for (const char* setup : {"1x1", "2x2"}) {
      runs.push_back(made_run({{"batch", batch}, {"setup", setup}}, 100));
      set(runs.back(), Figure::SamplesPerS,
          std::string(batch) == "32"    ? 3000
          : std::string(setup) == "2x2" ? 12'000
                                        : 6000);
    }
  }
  Shown made = shown(runs, {.keys = {"batch", "setup"}});
  made.bars = Figure::SamplesPerS;
  std::ostringstream out;
  print_bars(out, {.width = 80}, made);
  const auto bar = [](int letters) {
    std::string text;
    for (; letters > 0; --letters) {
      text += "█";
    }
    return text;
  };
  EXPECT_EQ(out.str(),
            "\nsample throughput  ksamples/s\n"
            "32 1x1                   3.00  " +
                bar(10) +
                "\n"
                "32 2x2                   3.00  " +
                bar(10) +
                "\n"
                "\n"
                "2048 1x1                 6.00  " +
                bar(20) +
                "\n"
                "2048 2x2                12.00  " +
                bar(40) + "\n");
}

TEST(CompareViews, TheDocumentIsThatOfItsPage) {
  const Json told = document(shown(runs_of_two()));
  EXPECT_THAT(keys_of(told), ElementsAre("schema", "host", "started_at", "of", "by", "metric",
                                         "shown", "confidence", "least_percent", "unit", "figures",
                                         "groups", "runs", "regressions", "left_out", "remarks"));
  EXPECT_EQ(told["figures"].size(), kRunFigures);
  const Json& group = told["groups"].at(1);
  EXPECT_THAT(keys_of(group),
              ElementsAre("name", "keys", "runs", "gpus", "figures", "scaling_reference",
                          "accounting_ms_per_step", "verdict", "is_baseline", "difference"));
  EXPECT_THAT(keys_of(group["figures"]["step_ms"]),
              ElementsAre("mean", "sd", "low", "high", "min", "max", "count"));
  EXPECT_THAT(keys_of(group["difference"]),
              ElementsAre("baseline", "before", "after", "change_percent", "low_percent",
                          "high_percent", "test", "p", "p_corrected", "why_no_test",
                          "is_beyond_noise", "is_worse", "causes", "host_facts", "sentence"));
  EXPECT_EQ(group["figures"]["epoch_s"], nullptr);
  EXPECT_EQ(group["figures"]["step_ms"]["mean"], 120);
  EXPECT_EQ(group["figures"]["step_ms"]["count"], 5);
  EXPECT_EQ(group["verdict"]["classes"]["lan-bandwidth"], 5);
  const Json& run = told["runs"].at(9);
  EXPECT_EQ(run["group"], 1);
  EXPECT_EQ(run["figures"]["step_ms"]["value"], 121);
  EXPECT_EQ(run["figures"]["step_ms"]["from"], "made");
  EXPECT_FALSE(run["figures"].contains("scaling_factor"));
}

}  // namespace
}  // namespace chokepoint::analysis
