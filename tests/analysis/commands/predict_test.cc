#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "analysis/commands/commands.h"
#include "tests/analysis/run_maker.h"
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

// "The Impact of GPU Networking (Part 1)" measured one all-reduce of the whole model, which is what
// `probe collective --parameters 708M` measures; DDP exchanges it in buckets.
TEST(PredictCommand, TakesOneMeasuredSizeForTheBucketsOfItsModel) {
  const auto total_s = [](double time_us) {
    const fakes::TemporaryFile file(json{{"collective", "all-reduce"},
                                         {"ranks", 2},
                                         {"sizes", {{{"bytes", 1.416e9}, {"time_us", time_us}}}}}
                                        .dump());
    const json told = predict_json(kJob + std::vector<std::string>{"--curve", file.path()});
    EXPECT_THAT(told["assumptions"].dump(), HasSubstr("has one size, 1.42 GB"));
    return told["total_s"].get<double>();
  };
  EXPECT_NEAR(total_s(121'713), 384.04, 0.01);  // InfiniBand; 406.12 were measured
  EXPECT_NEAR(total_s(16'558), 267.53, 0.01);   // NVLink; 266.83
  EXPECT_NEAR(total_s(120'000), 382.15, 0.02);  // as its table rounds it
}

TEST(PredictCommand, RefusesACurveOfOtherSizesThanTheJobs) {
  const fakes::TemporaryFile file(
      R"({"ranks": 2, "sizes": [{"bytes": 1024, "time_us": 50}, {"bytes": 65536, "time_us": 90}]})");
  const fakes::CliRun run = predict_with(kJob + std::vector<std::string>{"--curve", file.path()});
  EXPECT_EQ(run.code, cli::ExitCode::Usage);
  EXPECT_THAT(run.err, HasSubstr("its largest size is 64 KiB"));
}

// Seed of "two sites": a batch of 128 images there in each step, and a round trip.
TEST(PredictCommand, RemoteCallsAtTwoSites) {
  const std::vector<std::string> words{"--parallelism", "rpc",   "--request",     "1572864",
                                       "--steps",       "19550", "--single-time", "2342.27"};
  const json wan =
      predict_json(words + std::vector<std::string>{"--throughput", "2693.27M", "--throughput-back",
                                                    "26656.33M", "--rtt", "15.12ms"});
  EXPECT_NEAR(wan["total_s"], 2729.60, 1);
  EXPECT_EQ(wan["inputs"]["parallelism"], "rpc");
  EXPECT_EQ(wan["inputs"]["request_bytes"], 1572864.0);
  EXPECT_EQ(wan["network"]["limited_by"], "throughput");
  EXPECT_LT(wan["low_ms"].get<double>() * 19.55, 2729.60);
  const json lan = predict_json(
      words + std::vector<std::string>{"--throughput", "15664.45M", "--rtt", "0.28ms"});
  EXPECT_NEAR(lan["total_s"], 2354.35, 0.005 * 2354.35);
  const json by_rate = predict_json(
      words + std::vector<std::string>{"--throughput", "15664.45M", "--call-rate", "2000"});
  EXPECT_NEAR(by_rate["step_ms"].get<double>() - lan["step_ms"].get<double>(), 0.5 - 0.34, 1e-6);
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
      known + std::vector<std::string>{"--runs", "x"},
      known + std::vector<std::string>{"--throughput", "1G"},
      {"--parallelism", "rpc", "--compute", "10ms", "--link", "1G"},
      {"--parallelism", "rpc", "--request", "1M", "--compute", "10ms", "--link", "1G",
       "--call-rate", "9", "--call-time", "1ms"}};
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

// Data parallel by Gloo: two all-reduces of 4 MB a step.
class PredictFromRun : public testing::Test {
 protected:
  PredictFromRun() {
    NodeMaker& a = run_.node({.name = "a", .address = "10.0.0.1", .rank = 0});
    NodeMaker& b = run_.node({.name = "b", .address = "10.0.0.2", .rank = 1});
    for (NodeMaker* node : {&a, &b}) {
      node->add(record::Label{.key = "batch", .value = "16"});
      node->steps({.count = 40, .length_ms = 200});
      for (std::int64_t number = 0; number < 80; ++number) {
        const double ready_ms =
            static_cast<double>(number / 2) * 200 + (number % 2 == 0 ? 60 : 100);
        node->push(record::Collective{.start_ns = node->at_ms(ready_ms),
                                      .end_ns = node->at_ms(ready_ms + 35),
                                      .number = number,
                                      .kind = record::CollectiveKind::AllReduce,
                                      .bytes = 8'000'000,
                                      .own_ready_ns = node->at_ms(ready_ms),
                                      .peer_ready_ns = node->at_ms(ready_ms)});
      }
    }
    run_.finish();
  }
  std::vector<std::string> words(const std::vector<std::string>& more) {
    return std::vector<std::string>{"--from", run_.folder().string(), "--link", "1G", "--rtt",
                                    "0.1ms"} +
           more;
  }
  json told(const std::vector<std::string>& more) { return predict_json(words(more)); }

  RunMaker run_;
};

TEST_F(PredictFromRun, HonoursWhatTheJobIsToBeInstead) {
  const json as_it_was = told({});
  EXPECT_NEAR(as_it_was["sent_bytes_per_step"], 8e6, 1);
  EXPECT_EQ(as_it_was["inputs"]["backend"], "gloo");
  EXPECT_EQ(as_it_was["inputs"]["parallelism"], "dp");
  const json sharded = told({"--parallelism", "zero3"});
  EXPECT_EQ(sharded["inputs"]["parallelism"], "zero");
  EXPECT_NEAR(sharded["sent_bytes_per_step"], 1.5 * 8e6, 1);
  EXPECT_GT(sharded["step_ms"], as_it_was["step_ms"]);
  const json half = told({"--type", "fp16"});
  EXPECT_NEAR(half["sent_bytes_per_step"], 4e6, 1);
  EXPECT_LT(half["breakdown_ms"]["communication"], as_it_was["breakdown_ms"]["communication"]);
  EXPECT_EQ(told({"--backend", "nccl"})["inputs"]["backend"], "nccl");
  EXPECT_GT(told({"--batch", "32"})["breakdown_ms"]["compute"],
            as_it_was["breakdown_ms"]["compute"]);
  EXPECT_GT(told({"--overlap", "0"})["breakdown_ms"]["exposed"],
            as_it_was["breakdown_ms"]["exposed"]);
  EXPECT_EQ(told({"--steps", "1000"})["inputs"]["steps"], 1000);
}

TEST_F(PredictFromRun, RefusesWhatDoesNotFollowFromTheRun) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--parallelism", "tp"},
                                             {"--parallelism", "pp"},
                                             {"--parallelism", "rpc"},
                                             {"--layers", "12"},
                                             {"--micro-batches", "4"},
                                             {"--activations", "fp16"},
                                             {"--request", "1M"},
                                             {"--calls", "2"},
                                             {"--type", "fp17"}}) {
    const fakes::CliRun run = predict_with(words(more));
    EXPECT_EQ(run.code, cli::ExitCode::Usage) << testing::PrintToString(more) << run.out;
  }
}

TEST_F(PredictFromRun, NeverPromisesLessThanComputing) {
  const json fast = told({"--link", "400G"});
  EXPECT_GE(fast["low_ms"], fast["breakdown_ms"]["compute"]);
  EXPECT_LE(fast["low_ms"], fast["step_ms"]);
}

}  // namespace
}  // namespace chokepoint::analysis
