// A run's figures out of its records: where each comes from, and what is not known.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "analysis/commands/compare.h"
#include "tests/analysis/compare/made_records.h"
#include "tests/fakes/page.h"

namespace chokepoint::analysis {
namespace {

using Names = std::vector<std::string>;

ComparedRun read(const std::string& folder, const std::string& label = "samples_per_step") {
  std::optional<ComparedRun> run;
  fakes::page_of([&](const cli::Context& context) {
    run = *read_run({.path = folder, .folder = folder}, {.samples_label = label}, context);
  });
  return *std::move(run);
}

ComparedRun read(RunMaker& run) {
  run.finish();
  return read(run.folder().string());
}

void add_steps(NodeMaker& node, std::int64_t rank, record::Figure samples, double length_ms = 100,
               record::StepSource source = record::StepSource::Marks, int count = 20) {
  for (int at = 0; at < count; ++at) {
    node.push(record::Step{.start_ns = node.at_ms(at * length_ms),
                           .end_ns = node.at_ms((at + 1) * length_ms),
                           .number = at,
                           .rank = rank,
                           .source = source,
                           .samples = samples});
  }
}

double value(const ComparedRun& run, Figure figure) {
  return run[figure] ? run[figure]->value : -1;
}

void label(NodeMaker& node, const std::string& key, const std::string& text) {
  node.add(record::Label{.key = key, .value = text});
}

TEST(FiguresOfARun, SamplesOfAllRanksAreSummed) {
  RunMaker run;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    NodeMaker& node = run.node({.name = rank == 0 ? "a" : "b",
                                .address = fmt::format("10.0.0.{}", rank + 1),
                                .rank = rank});
    add_steps(node, rank, 64);
  }
  const ComparedRun told = read(run);
  EXPECT_NEAR(value(told, Figure::SamplesPerS), 1280, 1e-6);
  EXPECT_EQ(told[Figure::SamplesPerS]->from, "samples of steps from marks, of 2 ranks");
  EXPECT_EQ(told.gpus, 2);
}

TEST(FiguresOfARun, RanksOfATensorWorkOnTheSameSamples) {
  RunMaker run;
  NodeMaker& node = run.node({});
  node.process(1);
  label(node, "parallelism", "TP");
  add_steps(node, 0, 64);
  add_steps(node, 1, 64);
  EXPECT_NEAR(value(read(run), Figure::SamplesPerS), 640, 1e-6);
}

TEST(FiguresOfARun, ALabelGoesBeforeWhatStepsSay) {
  MadeRecords runs;
  const std::string folder = runs.add(
      {.labels = {{"samples_per_step", "512"}, {"batch", "16"}}, .step_ms = 100, .samples = 7});
  EXPECT_NEAR(value(read(folder), Figure::SamplesPerS), 5120, 1e-6);
  EXPECT_NEAR(value(read(folder, "batch"), Figure::SamplesPerS), 160, 1e-6);
  EXPECT_EQ(read(folder, "batch")[Figure::SamplesPerS]->from, "label batch over the mean step");
  EXPECT_NEAR(value(read(folder, "none"), Figure::SamplesPerS), 70, 1e-6);
}

TEST(FiguresOfARun, LabelsThatAreNoNumbers) {
  for (const char* text : {"", "many", "-5", "0", "1e999", "12 pieces", "nan"}) {
    MadeRecords runs;
    const std::string folder = runs.add({.labels = {{"samples_per_step", text}, {"gpus", text}}});
    EXPECT_FALSE(read(folder)[Figure::SamplesPerS]) << text;
    EXPECT_EQ(read(folder).gpus, 1) << text;
  }
}

TEST(FiguresOfARun, GpusAreWholeNumbers) {
  for (const std::string key : {"gpus", "nodes", "gpus_per_node"}) {
    std::map<std::string, std::string> labels{{"nodes", "2"}, {"gpus_per_node", "4"}};
    labels[key] = "0.4";
    MadeRecords runs;
    EXPECT_EQ(read(runs.add({.labels = labels})).gpus, key == "gpus" ? 8 : 1) << key;
  }
}

// The first step has connections to make.
TEST(FiguresOfARun, ThroughputBeginsWithTheSecondStep) {
  RunMaker run;
  NodeMaker& node = run.node({.world_size = 1});
  for (int at = 0; at < 11; ++at) {
    const double start = at == 0 ? 0 : 900 + at * 100;
    node.push(record::Step{.start_ns = node.at_ms(start),
                           .end_ns = node.at_ms(at == 0 ? 1000 : start + 100),
                           .number = at,
                           .rank = 0,
                           .samples = 50});
  }
  EXPECT_NEAR(value(read(run), Figure::SamplesPerS), 500, 1e-6);
}

TEST(FiguresOfARun, BetterSourcesGoFirst) {
  RunMaker run;
  NodeMaker& node = run.node({.world_size = 1});
  add_steps(node, 0, 10, 100, record::StepSource::Marks);
  add_steps(node, 0, 99, 100, record::StepSource::Output);
  EXPECT_NEAR(value(read(run), Figure::SamplesPerS), 100, 1e-6);
}

// Full duplex on a link between two: what one end sends the other receives.
TEST(FiguresOfARun, NetworkOfTheBusiestNodeAndVolumeOfAll) {
  MadeRecords runs;
  const ComparedRun run = read(runs.add({.nodes = 2, .duration_s = 1000, .volume_bytes = 200e9}));
  EXPECT_NEAR(value(run, Figure::VolumeBytes), 200e9, 1);
  EXPECT_NEAR(value(run, Figure::NetworkMbps), 1600, 1e-6);
  EXPECT_NEAR(value(run, Figure::DurationS), 1000, 1e-6);
}

TEST(FiguresOfARun, OneNodesRecordTellsBothWays) {
  MadeRecords runs;
  const std::string folder = runs.add({.nodes = 2, .duration_s = 1000, .volume_bytes = 200e9});
  const ComparedRun run = read(folder + "/n1.db");
  EXPECT_NEAR(value(run, Figure::VolumeBytes), 200e9, 1);
  EXPECT_NEAR(value(run, Figure::NetworkMbps), 1600, 1e-6);
}

// Two GPUs of 250 W on one node and one of 100 W on the other, for ten seconds.
TEST(FiguresOfARun, EnergyIsThatOfAllGpus) {
  RunMaker run;
  NodeMaker& a = run.node({.name = "a"});
  NodeMaker& b = run.node({.name = "b", .address = "10.0.0.2", .rank = 1});
  for (const auto& [node, gpu, watts] :
       {std::tuple{&a, "GPU-0", 250.0}, std::tuple{&a, "GPU-1", 250.0},
        std::tuple{&b, "GPU-0", 100.0}}) {
    node->gauge("gpu.power_w", gpu, {{.ms = 0, .value = watts}, {.ms = 10'000, .value = watts}});
  }
  EXPECT_NEAR(value(read(run), Figure::EnergyJ), 6000, 60);
}

// As the sender's packets and sockets tell; the other end saw fewer of the retransmissions.
TEST(FiguresOfARun, RetransmissionsAndRoundTripsOfTheJobsConnections) {
  RunMaker run;
  NodeMaker& a = run.node({.name = "a", .address = "10.0.0.1", .rank = 0});
  NodeMaker& b = run.node({.name = "b", .address = "10.0.0.2", .rank = 1});
  const std::int64_t there = a.flow("10.0.0.1:4000", "10.0.0.2:5000");
  const std::int64_t here = b.flow("10.0.0.1:4000", "10.0.0.2:5000");
  const auto traffic = [](std::int64_t retransmitted) {
    return Traffic{
        .to_ms = 1000, .bytes_per_s = 1e8, .like = {.retransmitted_packets = retransmitted}};
  };
  a.traffic(there, record::Direction::AToB, traffic(2));
  b.traffic(here, record::Direction::AToB, traffic(1));
  a.sockets(there, record::Direction::AToB,
            {.to_ms = 1000, .first = {.rtt_us = 4000}, .last = {.rtt_us = 4000}});
  const ComparedRun compared = read(run);
  EXPECT_NEAR(value(compared, *figure_of("retransmits")), 200, 1e-6);
  EXPECT_NEAR(value(compared, *figure_of("rtt_ms")), 4, 1e-6);
}

TEST(FiguresOfARun, ComputingAndExposedCommunicationOfAStep) {
  MadeRecords runs;
  const ComparedRun run = read(runs.add({.nodes = 2, .step_ms = 100, .copying_ms = 30}));
  EXPECT_NEAR(value(run, Figure::ComputeMs), 70, 5);
  EXPECT_NEAR(value(run, Figure::ExposedMs), 30, 5);
}

TEST(FiguresOfARun, WhatNobodyRecordedIsUnknown) {
  RunMaker run;
  run.node({.world_size = 1});
  const ComparedRun compared = read(run);
  for (const char* figure : {"energy_j", "retransmits", "rtt_ms", "compute_ms", "exposed_ms"}) {
    EXPECT_FALSE(compared[*figure_of(figure)]) << figure;
  }
}

TEST(FiguresOfARun, EpochsByStepsThatBeginAgain) {
  RunMaker run;
  NodeMaker& node = run.node({.world_size = 1});
  double at_ms = 0;
  for (const double length_ms : {150.0, 100.0, 120.0}) {
    for (int number = 1; number <= 10; ++number, at_ms += length_ms) {
      node.push(record::Step{.start_ns = node.at_ms(at_ms),
                             .end_ns = node.at_ms(at_ms + length_ms),
                             .number = number,
                             .rank = 0});
    }
    at_ms += 500;  // an evaluation
  }
  EXPECT_NEAR(value(read(run), Figure::EpochS), 1, 1e-6);
}

TEST(FiguresOfARun, EpochsByMarks) {
  MadeRecords runs;
  EXPECT_NEAR(value(read(runs.add({.epochs_at_s = {0, 1.2, 2}})), Figure::EpochS), 0.8, 1e-6);
  // The last one ends with the last step.
  EXPECT_NEAR(value(read(runs.add({.epochs_at_s = {0, 1.2}})), Figure::EpochS), 1.8, 1e-6);
  EXPECT_FALSE(read(runs.add({.epochs_at_s = {0}}))[Figure::EpochS]);
  EXPECT_FALSE(read(runs.add({}))[Figure::EpochS]);
}

TEST(FiguresOfARun, ARunWithoutStepsStillHasItsTimeAndVolume) {
  MadeRecords runs;
  const ComparedRun run =
      read(runs.add({.nodes = 2, .steps = 0, .duration_s = 10, .volume_bytes = 1e9}));
  EXPECT_FALSE(run[Figure::StepMs]);
  EXPECT_FALSE(run[Figure::LostMs]);
  EXPECT_FALSE(run[Figure::SamplesPerS]);
  EXPECT_FALSE(run.accounting);
  EXPECT_NEAR(value(run, Figure::DurationS), 10, 1e-6);
  EXPECT_NEAR(value(run, Figure::VolumeBytes), 1e9, 1);
  EXPECT_EQ(run.remarks, (Names{"no steps are known"}));
}

TEST(FiguresOfARun, AJobThatFailedSaysSo) {
  MadeRecords runs;
  EXPECT_EQ(read(runs.add({.exit_status = 9})).remarks, (Names{"the job ended with 9"}));
}

TEST(FiguresOfARun, TheAccountsSumToTheStep) {
  MadeRecords runs;
  const ComparedRun run =
      read(runs.add({.nodes = 2, .steps = 40, .step_ms = 100, .copying_ms = 40}));
  ASSERT_TRUE(run.accounting);
  EXPECT_NEAR(value(run, Figure::StepMs), 100, 1e-6);
  EXPECT_NEAR(run.accounting->sum(), 100, 1e-6);
  EXPECT_EQ(run.step_ms.size(), 38);
}

}  // namespace
}  // namespace chokepoint::analysis
