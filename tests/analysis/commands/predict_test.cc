#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "tests/analysis/commands/predict_run.h"
#include "tests/fakes/golden.h"
#include "tests/fakes/temporary_file.h"

namespace chokepoint::analysis {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

const std::vector<std::string> kJob{"--parameters",  "708M",   "--type",  "bf16", "--ranks", "2",
                                    "--single-time", "498.37", "--steps", "1108"};

TEST(PredictCommand, IsTheDocumentOfTheContract) {
  const json told = predict_json(with(kJob, {"--link", "25GB/s"}));
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

TEST(PredictCommand, PictureOfItsPage) {
  const fakes::CliRun run = predict_with(with(
      kJob, {"--link", "10G", "--upgrade", "100GbE=9000", "--runs", "20", "--hour-price", "30"}));
  EXPECT_EQ(run.err, "");
  EXPECT_GOLDEN("predict", run.out);
}

const std::vector<std::string> kSites{"--parameters", "10B",   "--ranks",      "14",
                                      "--compute",    "22.8s", "--outer-type", "int8",
                                      "--link",       "200M"};

TEST(PredictCommand, HowSeldomSitesMustExchange) {
  const json told = predict_json(with(kSites, {"--utilisation", "90%"}));
  const double every = told["outer"]["every_steps"];
  EXPECT_EQ(told["outer"]["least_every_steps"], every);
  EXPECT_GE(told["outer"]["utilisation_percent"], 90.0);
  EXPECT_NEAR(told["outer"]["round_ms"].get<double>(), told["step_ms"].get<double>() * every, 1);
  const json less = predict_json(with(
      kSites, {"--utilisation", "90%", "--outer-every", std::to_string(std::lround(every) - 1)}));
  EXPECT_LT(less["outer"]["utilisation_percent"], 90.0);
  EXPECT_EQ(less["outer"]["least_every_steps"], every);
}

TEST(PredictCommand, SitesTakeTheirFastestOrder) {
  const std::vector<std::string> job{"--parameters", "1B",        "--outer-every",
                                     "100",          "--compute", "2s"};
  const std::vector<std::string> sites{"--between", "a,b=1G",        "--between", "b,c=100M/30ms",
                                       "--between", "a,c=500M",      "--between", "c,d=1G",
                                       "--between", "b,d=500M/10ms", "--between", "a,d=50M"};
  const json told = predict_json(with(job, sites));
  EXPECT_EQ(told["ring"]["order"], (json{"a", "b", "d", "c"}));
  EXPECT_EQ(told["ring"]["named_slowest_mbps"], 50.0);
  EXPECT_EQ(told["inputs"]["ranks"], 4);
  EXPECT_EQ(told["inputs"]["link_mbps"], 500.0);
  EXPECT_EQ(told["inputs"]["rtt_ms"], 10.0);
  EXPECT_GT(told["alternatives"][0]["step_ms"], told["step_ms"]);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"--link", "1G"}, {"--ranks", "3"}, {"--between", "e"}}) {
    EXPECT_EQ(predict_with(with(with(job, sites), words)).code, cli::ExitCode::Usage) << words[0];
  }
}

TEST(PredictCommand, RefusesOuterStepsThatChangeNothing) {
  const std::vector<std::vector<std::string>> cases{
      {"--outer-overlap", "4"},
      {"--outer-every", "4", "--outer-overlap", "5"},
      {"--outer-every", "4", "--parallelism", "tp", "--hidden", "8"},
      {"--outer-every", "4", "--bucket", "1M"},
      {"--outer-every", "0"},
      {"--utilisation", "1"},
      {"--outer-every", "4", "--outer-type", "float3"}};
  for (const auto& words : cases) {
    const fakes::CliRun run = predict_with(with(kSites, words));
    EXPECT_EQ(run.code, cli::ExitCode::Usage) << words[0];
  }
}

TEST(PredictCommand, PricesUpgrades) {
  const json told = predict_json(
      with(kJob, {"--link", "1G", "--upgrade", "5GbE=41000", "--upgrade", "old:100M=1"}));
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
  const fakes::TemporaryFile file(
      R"({"schema": "chokepoint.collective/1", "ranks": 2, "alpha_us": 10, "beta_mbps": 93000})");
  const json told = predict_json(with(kJob, {"--curve", file.path()}));
  EXPECT_NEAR(told["breakdown_ms"]["communication"], 1.416e9 * 8 / 93e6, 2);
  EXPECT_TRUE(told["network"]["rate_mbps"].is_null());
  EXPECT_EQ(predict_with({"--parallelism", "pp", "--hidden", "8", "--batch", "8", "--sequence", "8",
                          "--compute", "1ms", "--curve", file.path()})
                .code,
            cli::ExitCode::Usage);
}

json size_of(double bytes, double us) {
  return {{"bytes", static_cast<std::uint64_t>(bytes)},
          {"time_us",
           {{"min", us}, {"median", us}, {"p99", us}, {"max", us}, {"mean", us}, {"count", 1}}}};
}

std::string curve_of(const json& sizes) {
  return json{{"schema", "chokepoint.collective/1"}, {"ranks", 2}, {"sizes", sizes}}.dump();
}

// "The Impact of GPU Networking (Part 1)" measured one all-reduce of the whole model, which is what
// `probe collective --parameters 708M` measures; DDP exchanges it in buckets.
TEST(PredictCommand, TakesOneMeasuredSizeForTheBucketsOfItsModel) {
  const auto total_s = [](double time_us) {
    const fakes::TemporaryFile file(curve_of(json::array({size_of(1.416e9, time_us)})));
    const json told = predict_json(with(kJob, {"--curve", file.path()}));
    EXPECT_THAT(told["assumptions"].dump(), HasSubstr("1.42 GB"));
    return told["total_s"].get<double>();
  };
  EXPECT_NEAR(total_s(121'713), 384.04, 0.01);  // InfiniBand; 406.12 were measured
  EXPECT_NEAR(total_s(16'558), 267.53, 0.01);   // NVLink; 266.83
  EXPECT_NEAR(total_s(120'000), 382.15, 0.02);  // as its table rounds it
}

TEST(PredictCommand, RefusesACurveOfOtherSizesThanTheJobs) {
  const fakes::TemporaryFile file(curve_of(json::array({size_of(1024, 50), size_of(65536, 90)})));
  const fakes::CliRun run = predict_with(with(kJob, {"--curve", file.path()}));
  EXPECT_EQ(run.code, cli::ExitCode::Usage);
  EXPECT_THAT(run.err, HasSubstr("64 KiB"));
}

// Seed of "two sites": a batch of 128 images there in each step, and a round trip.
TEST(PredictCommand, RemoteCallsAtTwoSites) {
  const std::vector<std::string> words{"--parallelism", "rpc",   "--request",     "1572864",
                                       "--steps",       "19550", "--single-time", "2342.27"};
  const json wan = predict_json(with(
      words, {"--throughput", "2693.27M", "--throughput-back", "26656.33M", "--rtt", "15.12ms"}));
  EXPECT_NEAR(wan["total_s"], 2729.60, 1);
  EXPECT_EQ(wan["inputs"]["parallelism"], "rpc");
  EXPECT_EQ(wan["inputs"]["request_bytes"], 1572864.0);
  EXPECT_EQ(wan["network"]["limited_by"], "throughput");
  EXPECT_LT(wan["low_ms"].get<double>() * 19.55, 2729.60);
  const json lan = predict_json(with(words, {"--throughput", "15664.45M", "--rtt", "0.28ms"}));
  EXPECT_NEAR(lan["total_s"], 2354.35, 0.005 * 2354.35);
  const json by_rate =
      predict_json(with(words, {"--throughput", "15664.45M", "--call-rate", "2000"}));
  EXPECT_NEAR(by_rate["step_ms"].get<double>() - lan["step_ms"].get<double>(), 0.5 - 0.34, 1e-6);
}

TEST(PredictCommand, ARoundTripOfNothingIsGivenToo) {
  const std::vector<std::string> words{"--parameters", "1M", "--compute", "10ms", "--link", "1G"};
  const json none = predict_json(with(words, {"--rtt", "0ms"}));
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
      with(known, {"--link", "fast"}),
      with(known, {"--link", "0"}),
      with(known, {"--type", "fp17"}),
      with(known, {"--ranks", "0"}),
      with(known, {"--ranks", "2.5"}),
      with(known, {"--nodes", "3", "--ranks", "2"}),
      with(known, {"--loss", "2"}),
      with(known, {"--loss", "nan"}),
      with(known, {"--overlap", "150%"}),
      with(known, {"--rtt", "-1ms"}),
      with(known, {"--micro-batches", "1M"}),
      with(known, {"--bucket", "0"}),
      with(known, {"--measured-time", "5"}),
      with(known, {"--upgrade", "HDR=1"}),
      with(known, {"--runs", "x"}),
      with(known, {"--throughput", "1G"}),
      with(known, {"--intra-link", "32GB/s"}),
      with(known, {"--nics", "0"}),
      with(known, {"--nics", "2", "--ranks", "4", "--nodes", "2"}),
      with(known, {"--nics", "2", "--backend", "gloo"}),
      with(known, {"--nodes", "1", "--intra-link", "32GB/s", "--upgrade", "10GbE=3"}),
      with(known, {"--upgrade", "0x10GbE=3"}),
      with(known, {"--epochs", "3"}),
      with(known, {"--power", "much"}),
      with(known, {"--heads", "few"}),
      with(known, {"--runs", "3"}),
      with(known, {"--hour-price", "3"}),
      with(known, {"--upgrade", "5GbE=3"}),
      with(known, {"--request", "1M"}),
      with(known, {"--outstanding", "2"}),
      with(known, {"--throughput-back", "1G"}),
      with(known, {"--backend", "gloo", "--algorithm", "tree"}),
      with(known, {"--backend", "gloo", "--transport", "rdma"}),
      with(known, {"--parallelism", "rpc", "--request", "1M"}),
      {"--parallelism", "tp", "--layers", "2", "--hidden", "8", "--batch", "8", "--sequence", "8",
       "--compute", "1ms", "--link", "1G", "--overlap", "1"},
      {"--parallelism", "pp", "--hidden", "8", "--batch", "8", "--sequence", "8", "--compute",
       "1ms", "--link", "1G", "--bucket", "1M"},
      with(known, {"--parallelism", "both"}),
      with(known, {"--parallelism", "dp=2,"}),
      with(known, {"--parallelism", "dp=2,zero1=2"}),
      with(known, {"--parallelism", "dp=4", "--ranks", "8"}),
      with(known, {"--parallelism", "dp=2,tp=2"}),
      with(known, {"--parallelism", "dp=4", "--nodes", "2"}),
      with(known, {"--parallelism", "dp=2", "--nodes", "4"}),
      {"--parallelism", "rpc", "--request", "1M", "--compute", "10ms", "--link", "1G",
       "--gpu-memory", "24G"},
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

const Words kTwoByTwo{"--parameters", "124M",   "--ranks",  "4",  "--nodes", "2",
                      "--compute",    "100ms",  "--link",   "1G", "--steps", "300",
                      "--intra-link", "32GB/s", "--epochs", "3"};

TEST(PredictCommand, TellsWhatPassesEachLink) {
  const json told = predict_json(kTwoByTwo);
  EXPECT_EQ(told["inputs"]["nodes"], 2);
  EXPECT_EQ(told["inputs"]["intra_link_mbps"], 256'000.0);
  const json& volume = told["volume"];
  EXPECT_NEAR(volume["host"]["step_bytes"], 1.5 * 496e6, 1);  // a ring's 2(n−1)/n
  EXPECT_NEAR(volume["host"]["epoch_bytes"], 100 * 1.5 * 496e6, 1);
  EXPECT_NEAR(volume["host"]["run_bytes"], 300 * 1.5 * 496e6, 1);
  EXPECT_NEAR(volume["network_frames"]["step_bytes"], 2 * 1.5 * 496e6 * 1538 / 1448, 1);
  EXPECT_FALSE(volume.contains("nic"));
  const json tree = predict_json(with(kTwoByTwo, {"--algorithm", "tree"}));
  EXPECT_NEAR(tree["volume"]["host"]["step_bytes"], 496e6, 1);
  const json rails = predict_json(with(kTwoByTwo, {"--nics", "2"}));
  EXPECT_NEAR(rails["volume"]["nic"]["step_bytes"], 0.75 * 496e6, 1);
  EXPECT_LT(rails["breakdown_ms"]["communication"].get<double>(),
            0.6 * told["breakdown_ms"]["communication"].get<double>());
}

TEST(PredictCommand, PricesANicForEachGpu) {
  const json told = predict_json(with(kTwoByTwo, {"--upgrade", "2x1GbE=500"}));
  const json rails = predict_json(with(kTwoByTwo, {"--nics", "2"}));
  EXPECT_EQ(told["upgrades"][0]["step_ms"], rails["step_ms"]);
  EXPECT_GT(told["upgrades"][0]["cost_per_saved_hour"], 0);
}

TEST(PredictCommand, OneHostIsPredictedByItsInsideAlone) {
  const json told = predict_json(with(kJob, {"--intra-link", "100GB/s", "--nodes", "1"}));
  EXPECT_NEAR(told["total_s"], 266.83, 0.02 * 266.83);  // of the post about two A100 by NVLink
  EXPECT_EQ(told["network"]["limited_by"], "intra-link");
  EXPECT_TRUE(told["network"]["transport"].is_null());
  EXPECT_TRUE(told["alternatives"].empty());
  EXPECT_FALSE(told["volume"].contains("host"));
}

const Words kXl{"--parameters", "1.5B", "--layers",   "48",   "--hidden",      "1600",
                "--batch",      "16",   "--sequence", "1024", "--vocabulary",  "50257",
                "--compute",    "1s",   "--link",     "1G",   "--activations", "fp16"};

TEST(PredictCommand, SaysWhetherTheJobFits) {
  const fakes::CliRun page = predict_with(with(kXl, {"--gpu-memory", "24G"}));
  EXPECT_THAT(page.out, HasSubstr("does not fit in 24 GiB"));
  const json told = predict_json(with(kXl, {"--gpu-memory", "80G", "--recompute"}));
  EXPECT_TRUE(told["memory"]["fits"]);
  EXPECT_EQ(told["memory"]["ways"].size(), 6U);
  const json open = predict_json(
      {"--parameters", "1.5B", "--compute", "1s", "--link", "1G", "--gpu-memory", "80G"});
  EXPECT_TRUE(open["memory"]["fits"].is_null());
  const json over = predict_json(
      {"--parameters", "1.5B", "--compute", "1s", "--link", "1G", "--gpu-memory", "24G"});
  EXPECT_FALSE(over["memory"]["fits"]);
}

Words on_grid(const char* grid) {
  return {"--parallelism", grid,   "--nodes",         "2",    "--parameters", "800M",
          "--layers",      "12",   "--hidden",        "1000", "--batch",      "8",
          "--sequence",    "1000", "--micro-batches", "4",    "--compute",    "400ms",
          "--type",        "fp16", "--link",          "10G",  "--intra-link", "10GB/s"};
}

TEST(PredictCommand, SeveralKindsOfParallelismAtOnce) {
  const json told = predict_json(with(on_grid("tp=2,dp=2,pp=2"), {"--gpu-memory", "24G"}));
  EXPECT_EQ(told["inputs"]["parallelism"], "tp=2,dp=2,pp=2");
  EXPECT_EQ(told["inputs"]["ranks"], 8);
  ASSERT_EQ(told["groups"].size(), 3U);
  EXPECT_EQ(told["groups"][0]["kind"], "tp");
  EXPECT_FALSE(told["groups"][0]["crosses_network"]);
  EXPECT_EQ(told["groups"][2]["kind"], "pp");
  EXPECT_TRUE(told["groups"][2]["crosses_network"]);
  EXPECT_EQ(told["groups"][2]["at_once"], 4);
  EXPECT_EQ(told["volume"]["host"]["step_bytes"], told["groups"][2]["host_bytes"]);
  EXPECT_EQ(told["memory"]["ways"][0]["parallelism"], "tp=2,dp=2,pp=2");
  EXPECT_TRUE(told["memory"]["fits"]);
  EXPECT_THAT(predict_with(on_grid("pp=2,dp=2,tp=2")).out,
              AllOf(HasSubstr("inside a host"), HasSubstr("of bubbles")));
}

TEST(PredictCommand, WarnsOfTensorParallelismOverTheNetwork) {
  const json wide = predict_json(on_grid("tp=8"));
  EXPECT_THAT(wide["assumptions"][0].get<std::string>(),
              AllOf(HasSubstr("warning"), HasSubstr("tp=8")));
  const json narrow = predict_json(on_grid("tp=4,dp=2"));
  EXPECT_THAT(narrow["assumptions"].dump(), testing::Not(HasSubstr("warning")));
  EXPECT_LT(narrow["groups"][0]["exposed_ms"], wide["groups"][0]["exposed_ms"]);
}

TEST(PredictCommand, EnergyIsPowerTimesTime) {
  const json told = predict_json(with(kJob, {"--link", "25GB/s", "--power", "400W"}));
  EXPECT_NEAR(told["energy_j_per_step"], 0.8 * told["step_ms"].get<double>(), 1e-6);
  EXPECT_TRUE(predict_json(with(kJob, {"--link", "1G"}))["energy_j_per_step"].is_null());
}

TEST(PredictCommand, AFileThatIsNotThereIsAFailure) {
  const fakes::CliRun run = predict_with(with(kJob, {"--curve", "/nowhere/c.json"}));
  EXPECT_EQ(run.code, cli::ExitCode::Failed);
  EXPECT_THAT(run.err, HasSubstr("/nowhere/c.json"));
}

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
                                             {"--parallelism", "dp=1,tp=2"},
                                             {"--parallelism", "both"},
                                             {"--layers", "12"},
                                             {"--micro-batches", "4"},
                                             {"--activations", "fp16"},
                                             {"--request", "1M"},
                                             {"--calls", "2"},
                                             {"--gpu-memory", "24G"},
                                             {"--heads", "12"},
                                             {"--optimizer", "sgd"},
                                             {"--type", "fp17"}}) {
    const fakes::CliRun run = predict_with(words(more));
    EXPECT_EQ(run.code, cli::ExitCode::Usage) << testing::PrintToString(more) << run.out;
  }
}

TEST_F(PredictFromRun, RefusesWhatWouldSayNothing) {
  for (const Words& more : std::vector<Words>{{"--throughput-back", "1G"},
                                              {"--runs", "3"},
                                              {"--algorithm", "tree"},
                                              {"--transport", "rdma"},
                                              {"--nics", "2"},
                                              {"--intra-link", "32GB/s"}}) {
    const fakes::CliRun run = predict_with(words(more));
    EXPECT_EQ(run.code, cli::ExitCode::Usage) << testing::PrintToString(more) << run.out;
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1) << run.err;
  }
}

TEST(PredictCommand, SaysOfWhichRowsTcpsFlagsAre) {
  const Words known{"--parameters", "1M", "--compute", "10ms"};
  const json rdma = predict_json(with(known, {"--link", "200G", "--loss", "1%"}));
  EXPECT_THAT(rdma["assumptions"].dump(), HasSubstr("RDMA"));
  const json tested = predict_json(with(known, {"--throughput", "1G", "--loss", "1%"}));
  EXPECT_THAT(tested["assumptions"].dump(), HasSubstr("--throughput"));
}

TEST_F(PredictFromRun, ReplaysTheRunWhereOnlyItsPathIsAnother) {
  const json slow = told({"--link", "100M"});
  EXPECT_EQ(slow["method"], "replay");
  EXPECT_NE(slow["models_step_ms"], slow["step_ms"]);
  EXPECT_GT(slow["step_ms"], 800);  // 4 MB each way take 340 ms, twice a step
  EXPECT_EQ(told({"--backend", "nccl"})["method"], "models");
  EXPECT_EQ(told({"--nodes", "4"})["method"], "models");
  EXPECT_EQ(told({"--late", "0"})["inputs"]["late"], 0.0);
  EXPECT_EQ(predict_with(words({"--late", "0", "--nodes", "4"})).code, cli::ExitCode::Usage);
}

TEST_F(PredictFromRun, RefusesWhatIsNoOrderOfItsRanks) {
  for (const char* order : {"0,0", "1,2", "0,", "x", "0,1,2", "-1,0", ","}) {
    EXPECT_EQ(predict_with(words({"--rank-order", order})).code, cli::ExitCode::Usage) << order;
  }
  EXPECT_EQ(predict_with(words({"--rank-order", "1,0", "--bucket", "1MiB"})).code,
            cli::ExitCode::Usage);
}

TEST(PredictCommand, LatenessIsOfARun) {
  const fakes::CliRun run =
      predict_with({"--parameters", "1M", "--compute", "10ms", "--link", "1G", "--late", "0"});
  EXPECT_EQ(run.code, cli::ExitCode::Usage);
  EXPECT_EQ(predict_with(
                {"--parameters", "1M", "--compute", "10ms", "--link", "1G", "--rank-order", "1,0"})
                .code,
            cli::ExitCode::Usage);
}

TEST_F(PredictFromRun, NeverPromisesLessThanComputing) {
  const json fast = told({"--link", "400G"});
  EXPECT_GE(fast["low_ms"], fast["breakdown_ms"]["compute"]);
  EXPECT_LE(fast["low_ms"], fast["step_ms"]);
}

}  // namespace
}  // namespace chokepoint::analysis
