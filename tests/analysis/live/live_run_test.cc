#include "analysis/live/live_run.h"

#include <gmock/gmock.h>

#include "base/record/names.h"
#include "base/record/stall.h"
#include "tests/analysis/run_maker.h"

namespace chokepoint::analysis {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::Optional;

class LiveRun : public testing::Test {
 protected:
  LiveNode read(bool is_being_written = true) {
    run_.finish();
    auto reader = record::Reader::open(run_.folder() / "a.db");
    EXPECT_TRUE(reader) << describe(reader.error());
    return live_node(*reader, is_being_written);
  }

  RunMaker run_;
};

// The record has no end, as while its job goes on; it was last written at 10 s.
const NodePlan kGoesOn{.length_ms = 10'000, .is_ended = false};

TEST_F(LiveRun, TellsTheRateOfTheNewestSeconds) {
  NodeMaker& a = run_.node(kGoesOn);
  a.counter(std::string(record::kJobSentBytes), "eth0",
            {{.ms = 0, .value = 0}, {.ms = 8000, .value = 0}, {.ms = 10'000, .value = 25e6}});
  a.counter(std::string(record::kCpuBusy), "cpu0",
            {{.ms = 8000, .value = 0}, {.ms = 10'000, .value = 1.5e9}});
  a.counter(std::string(record::kCpuBusy), "all",
            {{.ms = 8000, .value = 0}, {.ms = 10'000, .value = 9e9}});
  const LiveNode live = read();
  EXPECT_EQ(live.state, NodeState::Running);
  EXPECT_EQ(live.name, "a");
  EXPECT_EQ(live.command, "train");
  EXPECT_THAT(live.ranks, ElementsAre(0));
  EXPECT_THAT(live.sent_mbps, Optional(DoubleNear(100, 1)));
  EXPECT_EQ(live.received_mbps, std::nullopt) << "unknown is not 0";
  EXPECT_THAT(live.core_percent, Optional(DoubleNear(75, 1)));
  EXPECT_EQ(live.gpu_percent, std::nullopt);
  EXPECT_EQ(live.stalled_s, std::nullopt);
}

TEST_F(LiveRun, TellsStepsOfTheBestSource) {
  NodeMaker& a = run_.node(kGoesOn);
  a.steps({.count = 500, .length_ms = 10, .source = record::StepSource::Traffic});
  a.steps({.count = 70, .length_ms = 100});
  const LiveNode live = read();
  EXPECT_EQ(live.step_source, "marks");
  EXPECT_THAT(live.step_ms, Optional(DoubleNear(100, 0.01)));
  EXPECT_THAT(live.median_ms, Optional(DoubleNear(100, 0.01)));
  EXPECT_EQ(live.recent_ms.size(), 64U);
  EXPECT_THAT(live.since_step_s, Optional(DoubleNear(3, 0.2)));
}

TEST_F(LiveRun, CountsWhatWasSentAgain) {
  NodeMaker& a = run_.node(kGoesOn);
  const std::int64_t flow = a.flow("10.0.0.1:4000", "10.0.0.2:5000");
  a.traffic(flow, record::Direction::AToB,
            {.from_ms = 9000,
             .to_ms = 10'000,
             .bytes_per_s = 14.48e6,
             .like = {.packets = 100, .retransmitted_packets = 2}});
  a.sockets(flow, record::Direction::AToB,
            {.from_ms = 9000, .to_ms = 10'000, .first = {.rtt_us = 400}, .last = {.rtt_us = 400}});
  const LiveNode live = read();
  EXPECT_THAT(live.retransmitted_percent, Optional(DoubleNear(2, 0.01)));
  EXPECT_THAT(live.rtt_ms, Optional(DoubleNear(0.4, 0.001)));
}

TEST_F(LiveRun, TellsForHowLongAJobStands) {
  NodeMaker& a = run_.node(kGoesOn);
  a.steps({.count = 20, .length_ms = 100});
  a.event(6000, record::kStall, "job",
          text_of(record::Stall{.state = record::StallState::Stands,
                                .since_ns = a.at_ms(2000),
                                .usual_ms = 100,
                                .limit_ms = 3000}));
  EXPECT_THAT(read().stalled_s, Optional(DoubleNear(8, 0.2)));
}

TEST_F(LiveRun, TellsAnEndFromARecordThatWasCutOff) {
  run_.node({.exit_status = 3});
  const LiveNode ended = read(false);
  EXPECT_EQ(ended.state, NodeState::Ended);
  EXPECT_THAT(ended.exit_status, Optional(3));
  RunMaker killed;
  killed.node(kGoesOn);
  killed.finish();
  auto reader = record::Reader::open(killed.folder() / "a.db");
  ASSERT_TRUE(reader);
  EXPECT_EQ(live_node(*reader, false).state, NodeState::CutOff);
}

TEST_F(LiveRun, KnowsNothingOfAnEmptyRecord) {
  run_.node(kGoesOn);
  const LiveNode live = read();
  EXPECT_EQ(live.step, std::nullopt);
  EXPECT_EQ(live.step_ms, std::nullopt);
  EXPECT_EQ(live.sent_mbps, std::nullopt);
  EXPECT_EQ(live.rtt_ms, std::nullopt);
  EXPECT_EQ(live.trouble, "");
}

}  // namespace
}  // namespace chokepoint::analysis
