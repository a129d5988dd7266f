// predict --check: predictions held against recorded runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "tests/analysis/commands/predict_run.h"

namespace chokepoint::analysis {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class PredictCheck : public PredictFromRun {};

TEST_F(PredictCheck, ShowsARunsOwnPredictionBesideIt) {
  const json told = predict_json({"--check", folder(), "--link", "1G", "--rtt", "0.1ms"});
  EXPECT_EQ(told["schema"], "chokepoint.prediction.check/1");
  EXPECT_EQ(told["predicted_from"], "itself");
  ASSERT_EQ(told["runs"].size(), 1U);
  const json& step = told["runs"][0]["step_ms"];
  EXPECT_NEAR(step["measured"], 200, 1);
  EXPECT_GT(step["predicted"], 0);
  EXPECT_NEAR(step["error_percent"],
              (step["predicted"].get<double>() / step["measured"].get<double>() - 1) * 100, 1e-9);
  EXPECT_LE(step["low"], step["predicted"]);
  EXPECT_NEAR(told["median_error_percent"], std::abs(step["error_percent"].get<double>()), 1e-9);
  // A slower link makes the prediction longer, and what was measured stays.
  const json slow = predict_json({"--check", folder(), "--link", "100M", "--rtt", "0.1ms"});
  EXPECT_GT(slow["runs"][0]["step_ms"]["predicted"], step["predicted"]);
  EXPECT_EQ(slow["runs"][0]["step_ms"]["measured"], step["measured"]);
}

// 300 W of each of two ranks for a step of 200 ms.
TEST_F(PredictCheck, EnergyFollowsFromRecordedPower) {
  const json told = predict_json({"--check", folder(), "--link", "1G"});
  EXPECT_NEAR(told["runs"][0]["energy_j_per_step"]["measured"], 2 * 300 * 0.2, 1);
  const json from_run = predict_json({"--from", folder(), "--link", "1G"});
  EXPECT_NEAR(from_run["energy_j_per_step"], 0.6 * from_run["step_ms"].get<double>(), 0.1);
  EXPECT_NEAR(from_run["inputs"]["power_w"], 300, 0.5);
}

// A run that is predicted from itself, as measured.
TEST_F(PredictCheck, TakesARunAsItsSource) {
  const json told = predict_json({"--from", folder(), "--check", folder(), "--link", "1G"});
  EXPECT_EQ(told["predicted_from"], "run");
  EXPECT_EQ(told["from"], folder());
  EXPECT_GT(told["runs"][0]["step_ms"]["predicted"], 100);
}

TEST_F(PredictCheck, TakesFiguresAsItsSource) {
  const json told = predict_json({"--check", folder(), "--parameters", "2M", "--compute", "130ms",
                                  "--backend", "gloo", "--link", "1G"});
  EXPECT_EQ(told["predicted_from"], "figures");
  const double step_ms = told["runs"][0]["step_ms"]["predicted"];
  EXPECT_GT(step_ms, 130 + 8e6 * 8 / 941e3);
  EXPECT_LT(step_ms, 130 + 2 * 8e6 * 8 / 941e3);
}

TEST_F(PredictCheck, OfSeveralRunsThereIsARowEachAndWhatTheyComeTo) {
  const fakes::CliRun one = predict_with({"--check", folder(), "--link", "1G"});
  EXPECT_EQ(one.code, cli::ExitCode::Done);
  EXPECT_THAT(one.out, HasSubstr("exposed"));
  EXPECT_THAT(one.out, HasSubstr("measured"));
  const record::PrivateFolder copy = std::move(*record::PrivateFolder::make());
  std::filesystem::copy(folder(), copy.path(), std::filesystem::copy_options::recursive);
  const fakes::CliRun two = predict_with({"--check", folder(), copy.path(), "--link", "1G"});
  EXPECT_EQ(two.code, cli::ExitCode::Done) << two.err;
  EXPECT_THAT(two.out, HasSubstr("2 runs: error"));
}

// Its own link's rate is not in this record.
TEST_F(PredictCheck, ARunThatCannotBeCheckedIsNamed) {
  const fakes::CliRun run = predict_with({"--check", folder()});
  EXPECT_EQ(run.code, cli::ExitCode::Failed);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("give --link"));
}

TEST_F(PredictCheck, BadUsageIsOneLine) {
  for (const Words& words :
       std::vector<Words>{{"--check"},
                          {"--check", folder(), "--ranks", "3"},
                          {"--check", folder(), "--steps", "3"},
                          {"--check", folder(), "--upgrade", "5GbE=4"},
                          {"--check", folder(), "--late", "0"},
                          {"--from", folder(), "--check", folder(), "--nodes", "3"},
                          {folder()},
                          {"--from", folder(), folder()},
                          {"--from", folder(), "--check", folder(), "--parameters", "3M"}}) {
    const fakes::CliRun run = predict_with(words);
    EXPECT_EQ(run.code, cli::ExitCode::Usage) << testing::PrintToString(words) << run.out;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
}

}  // namespace
}  // namespace chokepoint::analysis
