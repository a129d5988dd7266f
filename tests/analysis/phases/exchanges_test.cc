#include "analysis/phases/exchanges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "analysis/phases/meetings.h"
#include "tests/analysis/phases/timelines.h"

namespace chokepoint::analysis {
namespace {

using record::CollectiveKind;

TEST(ExchangesOf, ArePerNodeAndInOrder) {
  TimelineRun run(3);
  run.add(1, row({.number = 1, .ready_ms = 50, .peer_ms = 50, .end_ms = 60}));
  run.add(1, row({.number = 0, .ready_ms = 10, .peer_ms = 20, .end_ms = 30}));
  const Exchanges exchanges = exchanges_of(run.data, run.clocks);
  ASSERT_EQ(exchanges.size(), 3U);
  EXPECT_TRUE(exchanges[0].empty());
  ASSERT_EQ(exchanges[1].size(), 2U);
  EXPECT_EQ(exchanges[1][0].number, 0);
  EXPECT_EQ(exchanges[1][0].all_ready_ns, ms_ns(20));
  EXPECT_EQ(exchanges[1][0].end_ns, ms_ns(30));
  EXPECT_EQ(exchanges[1][1].number, 1);
}

TEST(ExchangesOf, LeavesOutRowsThatWereFolded) {
  TimelineRun run(1);
  record::Collective folded = row({.ready_ms = 10, .peer_ms = 20, .end_ms = 30});
  folded.merged = 10;
  run.add(0, folded);
  EXPECT_TRUE(exchanges_of(run.data, run.clocks)[0].empty());
}

// rank 0's record says that its neighbour came at 22; the neighbour's own that it came at 20.
TEST(ExchangesOf, BelievesWhoCameRatherThanItsNeighbour) {
  TimelineRun run(2);
  const std::int64_t flow = run.connect(0, 1);
  run.add(0, row({.ready_ms = 10, .peer_ms = 22, .end_ms = 30}, flow));
  run.add(1, row({.ready_ms = 20, .peer_ms = 12, .end_ms = 31}, flow));
  const Exchanges exchanges = exchanges_of(run.data, run.clocks);
  EXPECT_EQ(exchanges[0][0].all_ready_ns, ms_ns(20));
  EXPECT_EQ(exchanges[1][0].all_ready_ns, ms_ns(20));
}

// Where the other left no record, it came half a round trip before it was seen.
TEST(ExchangesOf, TakesHalfTheRoundTripOffWhatANeighbourSaw) {
  TimelineRun run(2);
  const std::int64_t flow = run.connect(0, 1);
  for (const std::int64_t rtt_us : {9000, 4000, 0}) {
    record::SocketSample sample;
    sample.min_rtt_us = rtt_us;
    run.flow(0, flow).sockets[0].push_back(sample);
  }
  run.add(0, row({.ready_ms = 10, .peer_ms = 22, .end_ms = 30}, flow));
  const Exchanges exchanges = exchanges_of(run.data, run.clocks);
  EXPECT_EQ(exchanges[0][0].all_ready_ns, ms_ns(20));
  EXPECT_EQ(exchanges[0][0].connection, flow - 1);
}

TEST(ExchangesOf, PutsNodesOnTheCommonClock) {
  TimelineRun run(2);
  run.clocks.nodes[1].to_common = ClockMap({{0, -ms_ns(1000)}});
  run.add(0, row({.ready_ms = 10, .peer_ms = 20, .end_ms = 30}));
  run.add(1, row({.ready_ms = 1020, .peer_ms = 1010, .end_ms = 1030}));
  const Exchanges exchanges = exchanges_of(run.data, run.clocks);
  EXPECT_EQ(exchanges[1][0].own_ready_ns, ms_ns(20));
  EXPECT_EQ(exchanges[0][0].all_ready_ns, ms_ns(20));
  EXPECT_EQ(exchanges[1][0].end_ns, ms_ns(30));
}

// A common clock on which the run lies before zero tells the same.
TEST(ExchangesOf, MayLieBeforeTheClocksZero) {
  TimelineRun run(2);
  for (NodeClock& clock : run.clocks.nodes) {
    clock.to_common = ClockMap({{0, -ms_ns(1000)}});
  }
  run.add(0, row({.ready_ms = 10, .peer_ms = 20, .end_ms = 30}));
  run.add(1, row({.ready_ms = 20, .peer_ms = 10, .end_ms = 30}));
  const Exchanges exchanges = exchanges_of(run.data, run.clocks);
  EXPECT_EQ(exchanges[0][0].all_ready_ns, ms_ns(-980));
  EXPECT_EQ(exchanges[1][0].all_ready_ns, ms_ns(-980));
}

TEST(ExchangesOf, TakesTheNextBestWhereAMomentIsUnknown) {
  TimelineRun run(1);
  record::Collective bare{.start_ns = ms_ns(10), .end_ns = ms_ns(30)};
  run.add(0, bare);
  bare.first_data_ns = ms_ns(50);
  bare.end_ns = ms_ns(70);
  run.add(0, bare);
  const Exchanges exchanges = exchanges_of(run.data, run.clocks);
  ASSERT_EQ(exchanges[0].size(), 2U);
  EXPECT_EQ(exchanges[0][0].own_ready_ns, ms_ns(10));
  EXPECT_EQ(exchanges[0][0].all_ready_ns, ms_ns(10));
  EXPECT_EQ(exchanges[0][0].end_ns, ms_ns(30));
  EXPECT_EQ(exchanges[0][1].own_ready_ns, ms_ns(50));
  EXPECT_EQ(exchanges[0][1].bytes, 0);
}

// Its own announcement was not seen, and data followed the peer's: it had been there before.
TEST(ExchangesOf, KnowsNotSinceWhenARankWaitedWhoseAnnouncementWasNotSeen) {
  TimelineRun run(1);
  record::Collective row{.start_ns = ms_ns(10), .end_ns = ms_ns(70)};
  row.peer_ready_ns = ms_ns(40);
  row.first_data_ns = ms_ns(40);
  run.add(0, row);
  row.first_data_ns = ms_ns(50);
  run.add(0, row);
  const Exchanges exchanges = exchanges_of(run.data, run.clocks);
  EXPECT_FALSE(exchanges[0][0].is_ready_known);
  EXPECT_TRUE(exchanges[0][1].is_ready_known) << "data waited for this rank";
}

// NCCL's plugin had no room to count with this peer: the message meets none, not another such one.
TEST(ExchangesOf, LeaveAMessageAloneWhoseNumberIsNotKnown) {
  TimelineRun run(2);
  constexpr std::int64_t kFrom0To1 = std::int64_t{1} << 32U;
  for (const std::int64_t number : {kFrom0To1 | 5, kFrom0To1 | 0xffffffff}) {
    record::Collective row{.start_ns = ms_ns(10),
                           .end_ns = ms_ns(70),
                           .number = number,
                           .kind = record::CollectiveKind::Send,
                           .source = record::CollectiveSource::Nccl};
    row.own_ready_ns = ms_ns(20);
    run.add(0, row);
    row.kind = record::CollectiveKind::Receive;
    run.add(1, row);
  }
  const std::vector<Meeting> meetings = meetings_of(exchanges_of(run.data, run.clocks));
  std::multiset<std::size_t> sizes;
  for (const Meeting& meeting : meetings) {
    sizes.insert(meeting.size());
  }
  EXPECT_EQ(sizes, (std::multiset<std::size_t>{1, 1, 2}));
}

// Of a node with one connection it is that one; of several it cannot be told.
TEST(ExchangesOf, GuessesAConnectionThatHadNoRowYetOnlyWhereThereIsOne) {
  TimelineRun one(2);
  const std::int64_t only = one.connect(0, 1);
  one.add(0, row({.end_ms = 1}, 0));
  one.add(0, row({.ready_ms = 2, .end_ms = 3}));
  const Exchanges exchanges = exchanges_of(one.data, one.clocks);
  ASSERT_EQ(exchanges[0].size(), 2U);
  for (const Exchange& exchange : exchanges[0]) {
    EXPECT_EQ(exchange.connection, only - 1);
  }

  TimelineRun several(3);
  several.connect(0, 1);
  several.connect(0, 2);
  several.add(0, row({.end_ms = 1}, 0));
  EXPECT_EQ(exchanges_of(several.data, several.clocks)[0][0].connection, -1);
}

// Moments out of order: nobody is ready after the end.
TEST(ExchangesOf, HaveNoMomentsOutOfOrder) {
  TimelineRun run(2);
  run.add(0, row({.ready_ms = 50, .peer_ms = 90, .end_ms = 20}));
  run.add(1, row({.ready_ms = 10, .peer_ms = 5, .end_ms = 12}));
  const Exchanges exchanges = exchanges_of(run.data, run.clocks);
  for (const auto& of_node : exchanges) {
    for (const Exchange& exchange : of_node) {
      EXPECT_LE(exchange.own_ready_ns, exchange.all_ready_ns);
      EXPECT_LE(exchange.all_ready_ns, exchange.end_ns);
    }
  }
}

}  // namespace
}  // namespace chokepoint::analysis
