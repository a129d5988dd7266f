// Tables that others published, made again: records of runs with their figures, and what `compare`
// says of these, to the digit. "You've got a few GPUs, now what?!" (GPT-2 small on a nano-cluster),
// "The Impact of GPU Networking (Part 1)", "Supercomputing 24: Distributed GPU Computing".
//
// The expected output stands in tests/fixtures/compare/. After a change that is meant,
// CHOKEPOINT_WRITE_GOLDEN=1 analysis_compare_tests --gtest_filter='Golden*' writes it anew; read
// the difference before it goes in.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/analysis/compare/made_records.h"

namespace chokepoint::analysis {
namespace {

using Options = std::vector<std::string>;

void expect_golden(const std::string& name, const fakes::CliRun& run) {
  const std::string path = std::string(CHOKEPOINT_FIXTURES) + "/compare/" + name;
  EXPECT_EQ(run.code, cli::ExitCode::Done);
  EXPECT_EQ(run.err, "");
  if (std::getenv("CHOKEPOINT_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path) << run.out;
    return;
  }
  std::ifstream file(path);
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(run.out, expected.str()) << "in " << path;
}

void expect_in_all_forms(const std::string& name, const MadeRecords& runs, const Options& options) {
  expect_golden(name + ".txt", run_compare(runs.folders(), options));
  for (const auto& [form, ending] : {std::pair{"markdown", ".md"}, std::pair{"csv", ".csv"}}) {
    Options with_form = options;
    with_form.insert(with_form.end(), {"--format", form});
    expect_golden(name + ending, run_compare(runs.folders(), with_form));
  }
}

struct NanoRow {
  std::int64_t nodes;
  std::int64_t gpus;
  const char* parallelism;  // null: one GPU alone
  double ktokens_per_s;
  const char* scaling;
  double gbps;  // 0: no network
  double gb;
};
// T_1 is not printed; 29.5 ktokens/s is what all its scaling factors agree with.
constexpr NanoRow kNano[] = {{1, 1, nullptr, 29.5, "1.00", 0, 0},
                             {1, 2, "Data", 55.01, "0.93", 0, 0},
                             {1, 2, "Tensor", 25.83, "0.44", 0, 0},
                             {1, 2, "Pipeline", 22.93, "0.39", 0, 0},
                             {2, 1, "Data", 6.73, "0.11", 1.63, 225.10},
                             {2, 1, "Tensor", 1.46, "0.02", 1.81, 1171.06},
                             {2, 1, "Pipeline", 7.94, "0.13", 1.39, 174.26},
                             {2, 2, "Data", 10.34, "0.09", 1.66, 149.17},
                             {2, 2, "Tensor", 1.46, "0.01", 1.81, 1171.79},
                             {2, 2, "Pipeline", 8.87, "0.08", 1.53, 174.31}};

MadeRecord nano_run(const NanoRow& row, double off) {
  constexpr std::int64_t kTokens = 16'384;  // a batch of 16 times 1024
  MadeRecord run{.labels = {{"setup", fmt::format("{}x{}", row.nodes, row.gpus)},
                            {"batch", "16"},
                            {"unit", "tokens"}},
                 .nodes = row.nodes,
                 .ranks_each = row.gpus,
                 .step_ms = kTokens / (row.ktokens_per_s * off),
                 .samples = kTokens};
  if (row.parallelism != nullptr) {
    run.labels["parallelism"] = row.parallelism;
  }
  if (row.gb > 0) {
    run.volume_bytes = row.gb * 1e9;
    run.duration_s = row.gb * 8 / (row.gbps * off);
  }
  return run;
}

// "All metrics averaged over 5 experimental repetitions."
MadeRecords nano_cluster() {
  MadeRecords runs;
  for (const NanoRow& row : kNano) {
    int repetition = 0;
    for (const double off : {0.99, 0.995, 1.0, 1.005, 1.01}) {
      MadeRecord run = nano_run(row, off);
      run.labels["repetition"] = std::to_string(++repetition);
      runs.add(run);
    }
  }
  return runs;
}

TEST(GoldenSeeds, TheNanoClustersTable) {
  const MadeRecords runs = nano_cluster();
  expect_in_all_forms("nano-cluster", runs,
                      {"--by", "setup,parallelism", "--show",
                       "samples_per_s,scaling_factor,network_mbps,volume_bytes"});
  expect_golden("nano-cluster-page.txt", run_compare(runs.folders()));
  const auto document = nlohmann::json::parse(run_compare(runs.folders(), {"--json"}).out);
  ASSERT_EQ(document["groups"].size(), std::size(kNano));
  for (std::size_t at = 0; at < std::size(kNano); ++at) {
    const auto& figures = document["groups"][at]["figures"];
    EXPECT_EQ(document["groups"][at]["runs"].size(), 5);
    EXPECT_NEAR(figures["samples_per_s"]["mean"], kNano[at].ktokens_per_s * 1e3, 0.5);
    EXPECT_EQ(fmt::format("{:.2f}", figures["scaling_factor"]["mean"].get<double>()),
              kNano[at].scaling);
    EXPECT_EQ(figures["network_mbps"].is_null(), kNano[at].gbps == 0);
    if (kNano[at].gbps > 0) {
      EXPECT_NEAR(figures["network_mbps"]["mean"], kNano[at].gbps * 1e3, 0.5);
      EXPECT_NEAR(figures["volume_bytes"]["mean"], kNano[at].gb * 1e9, 1e4);
    }
  }
}

struct PostRow {
  const char* experiment;
  std::int64_t nodes;
  std::int64_t gpus;
  double epoch_s;
  double memory_mib;
};

void add_post_run(MadeRecords& runs, const char* model, const PostRow& row) {
  constexpr double kConnecting = 11;  // what the first epoch takes longer
  const double second_s = row.epoch_s + kConnecting;
  runs.add({.labels = {{"experiment", row.experiment}, {"model", model}, {"parallelism", "DDP"}},
            .nodes = row.nodes,
            .ranks_each = row.gpus,
            .duration_s = second_s + row.epoch_s + 5,
            .epochs_at_s = {0, second_s, second_s + row.epoch_s},
            .gpu_memory_bytes = row.memory_mib * 1024 * 1024});
}

const Options post_table{"--by", "experiment,model,parallelism,nodes,gpus_per_node", "--show",
                         "epoch_s,gpu_memory_bytes"};

TEST(GoldenSeeds, TheNetworkingPostsFirstTable) {
  MadeRecords runs;
  for (const PostRow& row :
       {PostRow{"e-15-1", 1, 1, 157.60, 3687.91}, PostRow{"e-15-2", 1, 2, 62.96, 3693.55},
        PostRow{"e-15-3", 2, 1, 62.55, 3696.01}}) {
    add_post_run(runs, "gpt2", row);
  }
  expect_in_all_forms("networking-post-gpt2", runs, post_table);
}

TEST(GoldenSeeds, TheNetworkingPostsSecondTable) {
  MadeRecords runs;
  for (const PostRow& row :
       {PostRow{"e-15-4-1", 1, 1, 498.37, 24'258.05}, PostRow{"e-15-5-3", 1, 2, 266.83, 24'258.38},
        PostRow{"e-15-6-2", 2, 1, 406.12, 24'297.53}}) {
    add_post_run(runs, "gpt2-large", row);
  }
  expect_in_all_forms("networking-post-gpt2-large", runs, post_table);
}

// "For WAN we see a 15.9% increase in time to train": against the LAN.
TEST(GoldenSeeds, TheTwoSitesTableOfTimes) {
  MadeRecords runs;
  runs.add({.labels = {{"method", "Local Execution"}}, .duration_s = 2342.27});
  runs.add({.labels = {{"method", "LAN Execution"}}, .nodes = 2, .duration_s = 2354.35});
  runs.add({.labels = {{"method", "WAN Execution"}}, .nodes = 2, .duration_s = 2729.60});
  const Options options{"--by",     "method",     "--show",     "duration_s,change",
                        "--metric", "duration_s", "--baseline", "method=LAN Execution",
                        "--sort",   "duration_s"};
  expect_in_all_forms("two-sites", runs, options);
  EXPECT_NE(run_compare(runs.folders(), options).out.find("+15.9 %"), std::string::npos);
}

}  // namespace
}  // namespace chokepoint::analysis
