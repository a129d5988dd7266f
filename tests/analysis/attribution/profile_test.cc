#include "analysis/attribution/profile.h"

#include <gtest/gtest.h>

#include "analysis/predict/predict.h"
#include "tests/analysis/made_run.h"
#include "tests/analysis/phases/pipelines.h"

namespace chokepoint::analysis {
namespace {

class Profiles : public testing::Test {
 protected:
  Profiles() {
    made_.host("a");
    made_.host("b");
    ab_ = made_.connect("a", "b");
  }
  // On both nodes, so many milliseconds after each step's beginning.
  void reduce(std::int64_t number, double ready_ms, double end_ms, std::int64_t bytes) {
    for (NodeData& node : made_.data.nodes) {
      for (const record::Step& step : node.steps) {
        const std::int64_t ready_ns = step.start_ns + ms_ns(ready_ms);
        node.collectives.push_back({.start_ns = ready_ns,
                                    .end_ns = step.start_ns + ms_ns(end_ms),
                                    .number = step.number * 10 + number,
                                    .kind = record::CollectiveKind::AllReduce,
                                    .bytes = bytes,
                                    .own_ready_ns = ready_ns,
                                    .peer_ready_ns = ready_ns});
      }
    }
  }
  void pass(const PipelinePlan& plan) {
    const Exchanges exchanges = pipeline(plan);
    for (std::size_t place = 0; place < 2; ++place) {
      NodeData& node = made_.data.nodes[place];
      node.steps.clear();
      for (const Span& step : pipeline_steps(plan)) {
        node.steps.push_back({.start_ns = step.start_ns, .end_ns = step.end_ns});
      }
      for (const Exchange& exchange : exchanges[place]) {
        node.collectives.push_back({.start_ns = exchange.own_ready_ns,
                                    .end_ns = exchange.end_ns,
                                    .number = exchange.number,
                                    .kind = exchange.kind,
                                    .bytes = static_cast<std::int64_t>(exchange.bytes),
                                    .own_ready_ns = exchange.own_ready_ns,
                                    .peer_ready_ns = exchange.all_ready_ns,
                                    .flow = 1});
      }
    }
  }

  MadeRun made_{{.step_ms = 200, .steps = 30}};
  std::size_t ab_ = 0;
};

TEST_F(Profiles, CountCollectivesThatAreUnderWayTogether) {
  reduce(0, 100, 150, 8'000'000);
  reduce(1, 101, 151, 8'000'000);
  const auto profile = profile_of(made_.data);
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->collectives, 2);
  EXPECT_EQ(profile->at_once, 2);
  EXPECT_EQ(profile->flags, 0);
}

TEST_F(Profiles, TellFlagsFromWhatCarriesTheGradients) {
  reduce(0, 100, 120, 8'000'000);
  reduce(1, 125, 145, 8'000'000);
  reduce(2, 150, 151, 16);
  const auto profile = profile_of(made_.data);
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->collectives, 2);
  EXPECT_EQ(profile->at_once, 1);
  EXPECT_EQ(profile->flags, 1);
  EXPECT_NEAR(profile->bytes_of_collective, 4'000'000, 1);
}

// As NCCL tells of FSDP over two ranks: counts are of one rank's part.
TEST_F(Profiles, KeepTheKindsOfCollectives) {
  reduce(0, 20, 40, 4'000'000);
  reduce(1, 60, 80, 4'000'000);
  reduce(2, 100, 120, 4'000'000);
  for (NodeData& node : made_.data.nodes) {
    for (record::Collective& row : node.collectives) {
      row.source = record::CollectiveSource::Nccl;
      row.kind = row.number % 10 == 2 ? record::CollectiveKind::ReduceScatter
                                      : record::CollectiveKind::AllGather;
    }
  }
  const auto profile = profile_of(made_.data);
  ASSERT_TRUE(profile) << describe(profile.error());
  EXPECT_EQ(profile->backend, "nccl");
  ASSERT_EQ(profile->kinds.size(), 2U);
  EXPECT_EQ(profile->kinds[0].kind, Collective::ReduceScatter);
  EXPECT_EQ(profile->kinds[0].times, 1);
  EXPECT_EQ(profile->kinds[0].bytes, 8e6);
  EXPECT_EQ(profile->kinds[1].kind, Collective::AllGather);
  EXPECT_EQ(profile->kinds[1].times, 2);
  EXPECT_EQ(profile->kinds[1].bytes, 8e6);
  // Three times the parameters, half of which are a rank's own.
  EXPECT_EQ(profile->sent_bytes, 3 * 8e6 / 2);
  EXPECT_EQ(sent_bytes(*profile, 2), 3 * 8e6 / 2);
  EXPECT_EQ(sent_bytes(*profile, 4), 3 * 8e6 * 3 / 4);
}

TEST_F(Profiles, TakeTheNamesOfParallelismThatPeopleGive) {
  reduce(0, 100, 120, 8'000'000);
  const auto labelled = [&](const char* label) {
    made_.node("a").labels["parallelism"] = label;
    return profile_of(made_.data)->parallelism;
  };
  EXPECT_EQ(labelled("Tensor"), Parallelism::Tensor);
  EXPECT_EQ(labelled("tp"), Parallelism::Tensor);
  EXPECT_EQ(labelled("pipeline"), Parallelism::Pipeline);
  EXPECT_EQ(labelled("FSDP"), Parallelism::Zero);
  EXPECT_EQ(labelled("DDP"), Parallelism::Data);
}

// Its sockets had something under way, so communication is known, but not what it carried.
TEST_F(Profiles, AreRefusedWhereNoCollectiveWasSeen) {
  made_.add_traffic(ab_, record::Direction::AToB, full_link());
  const auto profile = profile_of(made_.data);
  ASSERT_FALSE(profile);
  EXPECT_NE(describe(profile.error()).find("no collective"), std::string::npos);
}

// Pauses are in its mean, and the sender's packets come in bursts.
TEST_F(Profiles, TakeAFullLinksRateFromTheReceiversFullestBins) {
  reduce(0, 100, 195, 8'000'000);
  made_.add_traffic(ab_, record::Direction::AToB, full_link());
  auto& samples = made_.data.nodes[1].flows.front().packets.at(0);
  ASSERT_GT(samples.size(), 10U);
  for (std::size_t at = 0; at < samples.size(); ++at) {
    samples[at].bin_ns = ms_ns(10);
    samples[at].payload_bytes = at % 2 == 0 ? 625'000 : 1'250'000;
  }
  EXPECT_NEAR(profile_of(made_.data)->path.rate_mbps.value_or(0), 1000, 1e-6);
}

// Two ranks of a host pass each other more, through memory.
TEST_F(Profiles, TakeThePathBetweenHostsFromNoConnectionInsideOne) {
  reduce(0, 100, 195, 8'000'000);
  made_.add_traffic(ab_, record::Direction::AToB,
                    {.busy_ms = 60, .min_rtt_us = 400, .rtt_us = 400});
  const std::size_t inside = made_.connect("a", "a");
  made_.add_traffic(inside, record::Direction::AToB,
                    {.busy_ms = 150, .min_rtt_us = 20, .rtt_us = 20});
  EXPECT_EQ(profile_of(made_.data)->path.rtt_ms, 0.4);
}

// Whose kernel took one packet for another, and keeps that as the least.
TEST_F(Profiles, DoNotBelieveOneEndsLeastRoundTripAgainstTheOthers) {
  reduce(0, 100, 120, 8'000'000);
  const MadeTraffic way{.min_rtt_us = 8000, .rtt_us = 8000};
  made_.add_traffic(ab_, record::Direction::AToB, way);
  auto& samples = made_.data.nodes[0].flows.front().sockets.at(0);
  for (std::size_t at = samples.size() / 2; at < samples.size(); ++at) {
    samples[at].min_rtt_us = 4100;
  }
  EXPECT_EQ(profile_of(made_.data)->path.rtt_ms, 4.1) << "the other end sends nothing";
  made_.add_traffic(ab_, record::Direction::BToA, way);
  EXPECT_EQ(profile_of(made_.data)->path.rtt_ms, 8);
}

TEST_F(Profiles, OfAPipelineHaveItsMicroBatchesAndWhatAStageComputes) {
  const PipelinePlan plan{.stages = 2, .steps = 30, .batches = 4};
  pass(plan);
  const auto profile = profile_of(made_.data);
  ASSERT_TRUE(profile) << describe(profile.error());
  ASSERT_TRUE(profile->pipeline);
  EXPECT_EQ(profile->pipeline->micro_batches, 4);
  EXPECT_EQ(profile->pipeline->micro_batch_bytes, 1e6);
  EXPECT_FALSE(profile->pipeline->is_forward_only);
  EXPECT_NEAR(profile->compute_ms, 4 * (plan.forward_ms + plan.backward_ms), 5);
}

}  // namespace
}  // namespace chokepoint::analysis
