#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "analysis/commands/commands.h"
#include "tests/fakes/cli_run.h"
#include "tests/fakes/temporary_file.h"

namespace chokepoint::analysis {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

const std::vector<std::string> kJob{"--parameters",  "708M",   "--type",  "bf16", "--ranks", "2",
                                    "--single-time", "498.37", "--steps", "1108"};

std::vector<std::string> operator+(std::vector<std::string> words,
                                   const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

fakes::CliRun predict_with(const std::vector<std::string>& words) {
  const cli::Program program{.name = "chokepoint",
                             .version = "0",
                             .purpose = "test",
                             .sections = cli::one_section({predict_command()})};
  return fakes::run_cli(program, std::vector<std::string>{"predict"} + words);
}

json predict_json(const std::vector<std::string>& words) {
  const fakes::CliRun run = predict_with(words + std::vector<std::string>{"--json"});
  EXPECT_EQ(run.code, cli::ExitCode::Done) << run.err;
  return json::parse(run.out);
}

TEST(PredictCommand, IsTheDocumentOfTheContract) {
  const json told = predict_json(kJob + std::vector<std::string>{"--link", "25GB/s"});
  EXPECT_EQ(told["schema"], "chokepoint.prediction/1");
  EXPECT_EQ(told["inputs"]["link_mbps"], 200'000.0);
  EXPECT_EQ(told["inputs"]["ranks"], 2);
  EXPECT_EQ(told["inputs"]["single_time_s"], 498.37);
  EXPECT_TRUE(told["inputs"]["rtt_ms"].is_null());
  EXPECT_NEAR(told["breakdown_ms"]["compute"], 224.9, 0.05);
  EXPECT_NEAR(told["total_s"], 385.7, 1);
  EXPECT_NEAR(told["speedup"], 498.37 / 385.7, 0.01);
  EXPECT_LT(told["low_ms"], told["step_ms"]);
  EXPECT_GT(told["high_ms"], told["step_ms"]);
  EXPECT_EQ(told["sent_bytes_per_step"], 1.416e9);
  EXPECT_TRUE(told["upgrades"].empty());
  EXPECT_FALSE(told["alternatives"].empty());
}

TEST(PredictCommand, ShowsPeopleATable) {
  const fakes::CliRun run =
      predict_with(kJob + std::vector<std::string>{"--link", "10G", "--upgrade", "100GbE=9000",
                                                   "--runs", "20", "--hour-price", "30"});
  EXPECT_EQ(run.err, "");
  EXPECT_THAT(run.out, AllOf(HasSubstr("what if"), HasSubstr("100GbE"), HasSubstr("saved hour"),
                             HasSubstr("assumed"), HasSubstr("over one processor alone")));
}

TEST(PredictCommand, PricesUpgrades) {
  const json told =
      predict_json(kJob + std::vector<std::string>{"--link", "1G", "--upgrade", "5GbE=41000",
                                                   "--upgrade", "old:100M=1"});
  ASSERT_EQ(told["upgrades"].size(), 2U);
  const json& better = told["upgrades"][0];
  EXPECT_EQ(better["link_mbps"], 5000.0);
  const double saved_s = better["saved_s"];
  EXPECT_NEAR(saved_s, told["total_s"].get<double>() - better["total_s"].get<double>(), 1e-6);
  EXPECT_NEAR(better["cost_per_saved_hour"], 41'000 / (saved_s / 3600), 1e-6);
  EXPECT_LT(told["upgrades"][1]["saved_s"], 0);
  EXPECT_TRUE(told["upgrades"][1]["cost_per_saved_hour"].is_null());
}

TEST(PredictCommand, AMeasuredTimeNamesTheLink) {
  const json told = predict_json({"--parameters", "60.2M", "--ranks", "4", "--steps", "164",
                                  "--single-time", "180.45", "--measured-time", "547.88"});
  EXPECT_NEAR(told["explaining_link_mbps"], 1003, 5);
  EXPECT_NEAR(told["total_s"], 547.88, 0.01);
}

TEST(PredictCommand, TakesAMeasuredAllReduce) {
  const fakes::TemporaryFile file(R"({"ranks": 2, "alpha_us": 10, "beta_mbps": 93000})");
  const json told = predict_json(kJob + std::vector<std::string>{"--curve", file.path()});
  EXPECT_NEAR(told["breakdown_ms"]["communication"], 1.416e9 * 8 / 93e6, 2);
  EXPECT_TRUE(told["network"]["rate_mbps"].is_null());
  EXPECT_EQ(predict_with({"--parallelism", "pp", "--hidden", "8", "--batch", "8", "--sequence", "8",
                          "--compute", "1ms", "--curve", file.path()})
                .code,
            cli::ExitCode::Usage);
}

TEST(PredictCommand, ARoundTripOfNothingIsGivenToo) {
  const std::vector<std::string> words{"--parameters", "1M", "--compute", "10ms", "--link", "1G"};
  const json none = predict_json(words + std::vector<std::string>{"--rtt", "0ms"});
  EXPECT_EQ(none["inputs"]["rtt_ms"], 0.0);
  EXPECT_LT(none["step_ms"], predict_json(words)["step_ms"]);
}

TEST(PredictCommand, EveryWayToSpreadTheWork) {
  for (const char* way : {"dp", "tp", "pp", "zero", "zero1", "zero2", "zero3"}) {
    const json told = predict_json({"--parallelism", way, "--parameters", "124M", "--layers", "12",
                                    "--hidden", "768", "--batch", "16", "--sequence", "1K",
                                    "--micro-batches", "4", "--compute", "277ms", "--link", "1G"});
    EXPECT_GT(told["step_ms"], 277) << way;
    EXPECT_TRUE(told["total_s"].is_null());
  }
}

TEST(PredictCommand, BadUsageIsOneLineWithTheNextStep) {
  const std::vector<std::string> known{"--parameters", "1M", "--compute", "10ms", "--link", "1G"};
  const std::vector<std::vector<std::string>> bad{
      {},
      {"--parameters", "7x"},
      {"--parameters", "7M"},
      {"--parameters", "7M", "--single-time", "10"},
      {"--parameters", "7M", "--compute", "10ms"},
      {"--parallelism", "tp", "--compute", "10ms", "--link", "1G"},
      {"--from", "/tmp", "--parameters", "3M"},
      known + std::vector<std::string>{"--link", "fast"},
      known + std::vector<std::string>{"--link", "0"},
      known + std::vector<std::string>{"--type", "fp17"},
      known + std::vector<std::string>{"--ranks", "0"},
      known + std::vector<std::string>{"--ranks", "2.5"},
      known + std::vector<std::string>{"--nodes", "3", "--ranks", "2"},
      known + std::vector<std::string>{"--loss", "2"},
      known + std::vector<std::string>{"--loss", "nan"},
      known + std::vector<std::string>{"--overlap", "150%"},
      known + std::vector<std::string>{"--rtt", "-1ms"},
      known + std::vector<std::string>{"--micro-batches", "1M"},
      known + std::vector<std::string>{"--bucket", "0"},
      known + std::vector<std::string>{"--measured-time", "5"},
      known + std::vector<std::string>{"--upgrade", "HDR=1"},
      known + std::vector<std::string>{"--runs", "x"}};
  for (const auto& words : bad) {
    const fakes::CliRun run = predict_with(words);
    EXPECT_EQ(run.code, cli::ExitCode::Usage) << testing::PrintToString(words) << run.out;
    EXPECT_EQ(run.out, "");
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
}

TEST(PredictCommand, AFileThatIsNotThereIsAFailure) {
  const fakes::CliRun run =
      predict_with(kJob + std::vector<std::string>{"--curve", "/nowhere/c.json"});
  EXPECT_EQ(run.code, cli::ExitCode::Failed);
  EXPECT_THAT(run.err, HasSubstr("/nowhere/c.json"));
}

}  // namespace
}  // namespace chokepoint::analysis
