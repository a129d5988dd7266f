#include "analysis/phases/horizon.h"

#include <gtest/gtest.h>

#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

// Two nodes with 40 steps of 100 ms.
class Horizon : public testing::Test {
 protected:
  Horizon() {
    for (const std::size_t node : {0U, 1U}) {
      run_.add_steps(node, steps_ms(40, 100), static_cast<std::int64_t>(node));
      run_.data.nodes[node].is_complete = true;
    }
  }
  void exchanged_until(std::size_t node, double ms) {
    run_.data.nodes[node].collectives.push_back(row({.ready_ms = ms - 10, .end_ms = ms}));
  }
  std::size_t settled() const { return choose_steps(run_.data, run_.clocks).settled.size(); }

  TimelineRun run_{2};
};

TEST_F(Horizon, IsNoneWhereTheWatchingEnded) {
  exchanged_until(0, 1000);
  EXPECT_EQ(known_until_ns(run_.data, run_.clocks), INT64_MAX);
  EXPECT_EQ(settled(), 38U);
}

TEST_F(Horizon, IsTheLastCollectiveOfARunThatGoesOn) {
  run_.data.nodes[1].is_complete = false;
  exchanged_until(0, 3900);
  exchanged_until(1, 2500);
  EXPECT_EQ(known_until_ns(run_.data, run_.clocks), ms_ns(2500));
  EXPECT_EQ(settled(), 23U);
}

TEST_F(Horizon, StaysBehindTheSamplesWhereThereMayBeCollectivesYet) {
  run_.data.nodes[0].is_complete = false;
  const std::int64_t flow = run_.connect(0, 1);
  run_.flow(0, flow).sockets[0] = {{.t_ns = ms_ns(3500)}};
  run_.flow(0, flow).packets[1] = {{.t_ns = ms_ns(3200)}};
  EXPECT_EQ(known_until_ns(run_.data, run_.clocks), ms_ns(2000));
  EXPECT_EQ(settled(), 18U);
}

// Some jobs begin with another library than the one that moves their data.
TEST_F(Horizon, DoesNotWaitForCollectivesThatWillNotCome) {
  run_.data.nodes[0].is_complete = false;
  exchanged_until(0, 500);
  run_.flow(0, run_.connect(0, 1)).sockets[0] = {{.t_ns = ms_ns(3500)}};
  EXPECT_EQ(known_until_ns(run_.data, run_.clocks), ms_ns(2000));
}

TEST_F(Horizon, LeavesNoStepOfARunThatHasJustBegun) {
  run_.data.nodes[0].is_complete = false;
  run_.flow(0, run_.connect(0, 1)).sockets[0] = {{.t_ns = ms_ns(150)}};
  EXPECT_EQ(settled(), 0U);
}

TEST_F(Horizon, IsNoneOfAHostThatSeesNoTrafficAtAll) {
  run_.data.nodes[0].is_complete = false;
  EXPECT_EQ(settled(), 38U);
}

}  // namespace
}  // namespace chokepoint::analysis
