// Sleeping for completions.
#include <chrono>
#include <thread>

#include "tests/rdma/verbs/live_fixture.h"

namespace chokepoint::rdma::verbs {
namespace {

using LiveWait = LiveTest;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_F(LiveWait, NothingThatComesIsATimeout) {
  EndpointOptions wanted = options();
  wanted.events = true;
  const Ends ends = connected_ends(wanted, path());
  const Result<> waited = ends.target->wait_receives(net::Deadline::of(milliseconds(20)));
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind, ErrorKind::Timeout);
}

TEST_F(LiveWait, EachMessageWakesWhoSleepsForIt) {
  Piece from = piece(64);
  Piece to = piece(64);
  EndpointOptions wanted = options();
  wanted.events = true;
  const Ends ends = connected_ends(wanted, path());
  const LocalMemory slot = to.local(64);
  const SendRequest request{.operation = Operation::Send, .local = from.local(64)};
  ASSERT_TRUE(ends.target->lay_out_receives(0, std::span(&slot, 1)));
  ASSERT_TRUE(ends.source->lay_out_sends(0, std::span(&request, 1)));
  for (int turn = 0; turn < 20; ++turn) {
    ASSERT_EQ(ends.target->post_receives(0, 0, 1), 0);
    std::jthread sender([&] { ends.source->post_sends(0, 0, 1, true); });
    std::array<Completion, 4> found;
    int count = 0;
    while (count == 0) {
      ASSERT_TRUE(ends.target->wait_receives(net::Deadline::of(seconds(20))));
      count = ends.target->poll_receives(found);
    }
    EXPECT_EQ(count, 1);
    sender.join();
    EXPECT_EQ(next_send(*ends.source).status, 0);
  }
}

TEST_F(LiveWait, WhatCameBeforeTheWaitEndsIt) {
  Piece from = piece(64);
  Piece to = piece(64);
  EndpointOptions wanted = options();
  wanted.events = true;
  const Ends ends = connected_ends(wanted, path());
  const SendRequest request = to_remote(Operation::Write, from, to, 64);
  ASSERT_TRUE(ends.source->lay_out_sends(0, std::span(&request, 1)));
  ASSERT_EQ(ends.source->post_sends(0, 0, 1, true), 0);
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_TRUE(ends.source->wait_sends(net::Deadline::of(seconds(20))));
  EXPECT_EQ(next_send(*ends.source).status, 0);
}

TEST_F(LiveWait, WithoutEventsItReturnsAtOnceUntilTimeIsUp) {
  const Ends ends = connected_ends();
  EXPECT_TRUE(ends.source->wait_sends(net::Deadline::of(seconds(20))));
  EXPECT_FALSE(ends.source->wait_sends(net::Deadline::of(seconds(0))));
}

}  // namespace
}  // namespace chokepoint::rdma::verbs
