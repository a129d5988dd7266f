#include "analysis/phases/waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/phases/activity.h"
#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A bin of 10 ms that ends then: of its packets some had been sent before.
record::FlowSample bin(double end_ms, std::int64_t packets, std::int64_t again = 0) {
  return {.t_ns = ms_ns(end_ms),
          .bin_ns = ms_ns(10),
          .packets = packets,
          .payload_bytes = packets * 1024,
          .retransmitted_packets = again,
          .retransmitted_bytes = again * 1024,
          .out_of_order = 0};
}

MATCHER_P2(IsSpan, from_ms, to_ms, "") {
  return arg.start_ns == ms_ns(from_ms) && arg.end_ns == ms_ns(to_ms);
}

TEST(Waits, EndWithWhatWasSentBefore) {
  EXPECT_THAT(waits_of({bin(10, 100), bin(80, 50, 40), bin(90, 100)}), ElementsAre(IsSpan(10, 70)));
}

TEST(Waits, SilenceBeforeNewDataIsComputing) {
  EXPECT_THAT(waits_of({bin(10, 100), bin(80, 50, 10), bin(200, 50)}), IsEmpty());
}

TEST(Waits, WhatFillsAGapHadBeenSentBefore) {
  record::FlowSample filling = bin(80, 4);
  filling.out_of_order = 3;
  EXPECT_THAT(waits_of({bin(10, 100), filling}), ElementsAre(IsSpan(10, 70)));
}

TEST(Waits, AcknowledgementsDoNotEndThem) {
  EXPECT_THAT(
      waits_of(
          {bin(10, 100), {.t_ns = ms_ns(40), .bin_ns = ms_ns(10), .packets = 3}, bin(80, 50, 50)}),
      ElementsAre(IsSpan(10, 70)));
}

TEST(Waits, NeedTheirBeginning) {
  EXPECT_THAT(waits_of({bin(80, 50, 50)}), IsEmpty());
  EXPECT_THAT(waits_of({bin(10, 50), bin(20, 50, 50)}), IsEmpty()) << "no silence between";
}

class OfRoce : public testing::Test {
 protected:
  OfRoce() {
    for (const std::size_t node : {0U, 1U}) {
      run.flow(node, flow).row.protocol = "roce";
    }
  }
  TimelineRun run{2};
  std::int64_t flow = run.connect(0, 1);
};

TEST_F(OfRoce, WaitsAreActivityAndOneEndTells) {
  run.flow(0, flow).packets[0] = {bin(10, 100), bin(80, 50, 40)};
  run.flow(1, flow).packets[0] = {bin(510, 100)};
  const Activity activity = activity_of(run.data, run.clocks);
  EXPECT_EQ(activity.source, PhaseSource::Packets);
  EXPECT_THAT(activity.spans, ElementsAre(IsSpan(0, 80)));
}

TEST_F(OfRoce, TheOtherEndTellsWhereTheFirstSawNothing) {
  run.flow(1, flow).packets[0] = {bin(10, 100)};
  EXPECT_THAT(activity_of(run.data, run.clocks).spans, ElementsAre(IsSpan(0, 10)));
}

}  // namespace
}  // namespace chokepoint::analysis
