#include "capture/gloo/arrival.h"

#include <gtest/gtest.h>

namespace chokepoint::capture::gloo {
namespace {

// This node is ready at 100 and its neighbour at 150; data moves from 160 to 300.
Share usual(std::uint32_t connection) {
  Share share{.connection = connection};
  share.sent = {
      .send_ready_ns = 100, .receive_ready_ns = 105, .first_data_ns = 165, .last_data_ns = 300};
  share.received = {
      .send_ready_ns = 155, .receive_ready_ns = 150, .first_data_ns = 160, .last_data_ns = 290};
  return share;
}

Share later_by(Share share, std::int64_t late_ns) {
  for (std::int64_t* time :
       {&share.received.send_ready_ns, &share.received.receive_ready_ns, &share.sent.first_data_ns,
        &share.received.first_data_ns, &share.sent.last_data_ns, &share.received.last_data_ns}) {
    *time += late_ns;
  }
  return share;
}

TEST(GlooArrival, EachSideCameWithItsFirstReadyMessage) {
  const Arrival arrival = arrival_at({.shares = {usual(7)}});
  EXPECT_EQ(arrival.own_ns, 100);
  EXPECT_EQ(arrival.peer_ns, 150);
  EXPECT_EQ(arrival.last_peer, 7U);
  EXPECT_EQ(arrival.first_data_ns, 160);
  EXPECT_EQ(arrival.last_data_ns, 300);
  EXPECT_TRUE(arrival.are_both_known());
}

TEST(GlooArrival, OfSeveralNeighboursTheLastCounts) {
  const Arrival arrival = arrival_at({.shares = {usual(7), later_by(usual(8), 50), usual(9)}});
  EXPECT_EQ(arrival.own_ns, 100);
  EXPECT_EQ(arrival.peer_ns, 200);
  EXPECT_EQ(arrival.last_peer, 8U);
  EXPECT_EQ(arrival.first_data_ns, 160);
  EXPECT_EQ(arrival.last_data_ns, 350);
}

TEST(GlooArrival, WhoReceivesIsReadyBeforeWhatItWaitsForIsSent) {
  Share share{.connection = 3};
  share.sent = {.receive_ready_ns = 10};
  share.received = {.send_ready_ns = 90, .first_data_ns = 91, .last_data_ns = 99};
  const Arrival arrival = arrival_at({.shares = {share}});
  EXPECT_EQ(arrival.own_ns, 10);
  EXPECT_EQ(arrival.peer_ns, 90);
}

TEST(GlooArrival, AReadyMessageOutOfSightIsUnknownThoughALaterOneWasSeen) {
  Share share = usual(7);
  share.received.receive_ready_ns = 200;
  share.received.send_ready_ns = 0;
  const Arrival arrival = arrival_at({.shares = {share}});
  EXPECT_EQ(arrival.own_ns, 100);
  EXPECT_EQ(arrival.peer_ns, 0);
  EXPECT_EQ(arrival.last_peer, 7U) << "there is no other";
  EXPECT_FALSE(arrival.are_both_known());
}

TEST(GlooArrival, WhoCameOutOfSightHadComeByTheEndOfTheStretch) {
  Share share = usual(7);
  share.sent.send_ready_ns = share.sent.receive_ready_ns = 0;
  share.sent.hidden_by_ns = 120;
  EXPECT_EQ(arrival_at({.shares = {share}}).own_ns, 120) << "the neighbour came at 150";
  share.sent.hidden_by_ns = 155;
  EXPECT_EQ(arrival_at({.shares = {share}}).own_ns, 0) << "it may have come before or after";
  share = usual(7);
  share.received.send_ready_ns = share.received.receive_ready_ns = 0;
  share.received.hidden_by_ns = 90;
  EXPECT_EQ(arrival_at({.shares = {share}}).peer_ns, 90) << "this node came at 100";
  share.received.hidden_by_ns = 101;
  EXPECT_EQ(arrival_at({.shares = {share}}).peer_ns, 0);
}

TEST(GlooArrival, OneNeighbourOutOfSightMayHaveBeenTheLast) {
  Share hidden = later_by(usual(8), 5);
  hidden.received.send_ready_ns = hidden.received.receive_ready_ns = 0;
  const Arrival arrival = arrival_at({.shares = {usual(7), hidden}});
  EXPECT_EQ(arrival.peer_ns, 0);
  EXPECT_EQ(arrival.last_peer, Collectives::kNoConnection);
}

TEST(GlooArrival, OneNeighbourOutOfSightWasNotTheLastWhereItsDataCameBefore) {
  Share hidden = usual(7);
  hidden.received.send_ready_ns = hidden.received.receive_ready_ns = 0;
  const Arrival arrival = arrival_at({.shares = {hidden, later_by(usual(8), 50)}});
  EXPECT_EQ(arrival.peer_ns, 200);
  EXPECT_EQ(arrival.last_peer, 8U);
}

TEST(GlooArrival, ANeighbourThatNeverCameIsUnknown) {
  Share waiting{.connection = 8};
  waiting.sent = {.send_ready_ns = 100};
  const Arrival arrival = arrival_at({.shares = {usual(7), waiting}});
  EXPECT_EQ(arrival.own_ns, 100);
  EXPECT_EQ(arrival.peer_ns, 0);
}

// Out of sight, but data moved only long after the other side was ready.
TEST(GlooArrival, WhoseReadyMessageWasNotSeenCameWithTheDataThatHadWaited) {
  constexpr std::int64_t kLateNs = 200'000'000;
  Share share = later_by(usual(7), kLateNs);
  const std::int64_t data_ns = share.received.first_data_ns;
  share.received.send_ready_ns = share.received.receive_ready_ns = 0;
  const Arrival peer = arrival_at({.shares = {share}});
  EXPECT_EQ(peer.own_ns, 100);
  EXPECT_EQ(peer.peer_ns, data_ns);
  EXPECT_EQ(peer.last_peer, 7U);

  std::swap(share.sent, share.received);
  const Arrival own = arrival_at({.shares = {share}});
  EXPECT_EQ(own.own_ns, data_ns);
  EXPECT_EQ(own.peer_ns, 100);
}

TEST(GlooArrival, DataSoonAfterOneSideWasReadySayNothingOfTheOther) {
  Share share = usual(7);
  share.received.send_ready_ns = share.received.receive_ready_ns = 0;
  EXPECT_EQ(arrival_at({.shares = {share}}).peer_ns, 0);
}

TEST(GlooArrival, OfANeighbourThatSentNothingYetNothingIsKnown) {
  Share waits{.connection = 8};
  waits.sent = {.send_ready_ns = 100};
  Share share = later_by(usual(7), 200'000'000);
  share.received.send_ready_ns = share.received.receive_ready_ns = 0;
  EXPECT_EQ(arrival_at({.shares = {share, waits}}).peer_ns, 0);
}

}  // namespace
}  // namespace chokepoint::capture::gloo
