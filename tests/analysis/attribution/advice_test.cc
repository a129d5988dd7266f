// What a verdict advises, with the figures of its own path: judgement.cc and the findings of
// causes.def.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/attribution/judgement.h"
#include "tests/analysis/run_maker.h"

namespace chokepoint::analysis {
namespace {

using record::Direction;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A link of 10 Gb/s by its cards, over which 200 Mb/s go.
class Advise : public testing::Test {
 protected:
  static void make(RunMaker& maker, std::int64_t round_trip_us) {
    for (const bool is_a : {true, false}) {
      NodeMaker& node = maker.node({.name = is_a ? "a" : "b",
                                    .address = is_a ? "10.0.0.1" : "10.0.0.2",
                                    .interface = is_a ? "eth0" : "ens1",
                                    .rank = is_a ? 0 : 1});
      const std::int64_t flow = is_a ? node.flow("10.0.0.1:4000", "10.0.0.2:5000")
                                     : node.flow("10.0.0.2:5000", "10.0.0.1:4000");
      node.traffic(flow, is_a ? Direction::AToB : Direction::BToA,
                   {.from_ms = 0, .to_ms = 5000, .bytes_per_s = 25e6});
      node.sockets(flow, Direction::AToB,
                   {.from_ms = 0,
                    .to_ms = 5000,
                    .last = {.state = 1, .min_rtt_us = round_trip_us, .bytes_sent = 125'000'000}});
      node.steps({.count = 20, .length_ms = 250});
    }
  }

  static Verdict advised(Verdict verdict, std::int64_t round_trip_us = 100) {
    RunMaker maker;
    make(maker, round_trip_us);
    const RunData run = maker.load();
    const Clocks clocks = fit_clocks(run);
    const StepLine steps = choose_steps(run, clocks);
    const Phases phases = phases_of(run, clocks, steps);
    const LimitTimeline limit_timeline = limit_timeline_of(run, clocks, phases.communicating);
    const DiagnoseOptions options;
    advise({.run = run,
            .options = options,
            .clocks = clocks,
            .steps = steps,
            .phases = phases,
            .limit_timeline = limit_timeline},
           verdict);
    return verdict;
  }
  static Verdict advised(VerdictClass verdict, Cause cause, std::int64_t round_trip_us = 100) {
    return advised({.verdict = verdict, .cause = cause, .where = {.from = "a", .to = "b"}},
                   round_trip_us);
  }
};

TEST_F(Advise, ALinkBelowItsCardsIsAskedAboutAtTheirs) {
  const Verdict verdict = advised(VerdictClass::LanBandwidth, Cause::LineRate);
  ASSERT_THAT(verdict.advice, Not(IsEmpty()));
  EXPECT_EQ(verdict.advice[0].what, "estimate the gain from 10G between a and b");
  EXPECT_EQ(verdict.advice[0].command, "chokepoint predict --from DIR --link 10G");
  EXPECT_THAT(verdict.disproof, HasSubstr("probe tcp"));
}

TEST_F(Advise, ABufferHoldsWhatThePathDoes) {
  const Verdict verdict = advised(VerdictClass::WanLatency, Cause::ReceiveWindow, 20'000);
  ASSERT_THAT(verdict.advice, Not(IsEmpty()));
  // 10 Gb/s times 20 ms are 25 MB; twice that, rounded up.
  EXPECT_EQ(verdict.advice[0].what, "on b, receive buffers as large as the path");
  EXPECT_THAT(verdict.advice[0].command, HasSubstr("tcp_rmem='4096 131072 67108864'"));
}

TEST_F(Advise, NamesTheCardOfTheOneWhoIsToLook) {
  EXPECT_THAT(advised(VerdictClass::LanBandwidth, Cause::CompetingTraffic).advice[0].command,
              HasSubstr("capture -i eth0"));
  EXPECT_THAT(advised(VerdictClass::LanLoss, Cause::Loss).advice[0].command,
              HasSubstr("ethtool -S ens1"));
}

TEST_F(Advise, LeavesOutWhatItCouldOnlyGuess) {
  // No better way was found, so none can be named; and nobody knows which rank it is.
  EXPECT_THAT(advised(VerdictClass::WrongPath, Cause::ManagementInterface).advice, IsEmpty());
  EXPECT_THAT(advised(VerdictClass::Straggler, Cause::LateRank).advice, IsEmpty());
  EXPECT_THAT(advised({.verdict = VerdictClass::LanBandwidth}).advice, IsEmpty());
}

TEST_F(Advise, NamesTheRankToLookAt) {
  const Verdict verdict =
      advised({.verdict = VerdictClass::Straggler, .where = {.node = "b", .rank = 1}});
  ASSERT_THAT(verdict.advice, Not(IsEmpty()));
  EXPECT_THAT(verdict.advice[0].what, HasSubstr("on b what delays rank 1"));
}

}  // namespace
}  // namespace chokepoint::analysis
