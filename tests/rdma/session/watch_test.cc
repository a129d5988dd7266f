// WatchedPeer and Watch, with which an end waits for the other: a part of round.cc.
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>

#include "base/control/message.h"
#include "rdma/session/round.h"

namespace chokepoint::rdma::session {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

class WatchedPeer : public testing::Test {
 protected:
  static std::array<int, 2> sockets() {
    std::array<int, 2> pair = {-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair.data()), 0);
    return pair;
  }

  void peer_fails(const std::string& reason) {
    const Error error{ErrorKind::Io, "", "test", 0, reason};
    EXPECT_TRUE(peer_.send(control::failed(error), net::Deadline::of(seconds(5))));
  }

  std::array<int, 2> pair_ = sockets();
  control::Channel own_{sys::Descriptor(pair_[0]), "peer", control::kMaxFromServer};
  control::Channel peer_{sys::Descriptor(pair_[1]), "own", control::kMaxFromServer};
  Watch watch_{own_, -1, seconds(60), false};
};

TEST_F(WatchedPeer, WhatThePeerSaidFirstIsTheReason) {
  peer_fails("the cause");
  peer_fails("what follows from it");
  const Result<bool> going = watch_.go_on();
  ASSERT_FALSE(going);
  EXPECT_THAT(describe(watch_.reason(going.error())), HasSubstr("the cause"));
}

TEST_F(WatchedPeer, ThePeersReasonIsTheCauseOfOurs) {
  peer_fails("the cause");
  const Error own{ErrorKind::Io, "", "test", 0, "flushed"};
  EXPECT_THAT(describe(watch_.reason(own)), HasSubstr("the cause"));
}

}  // namespace
}  // namespace chokepoint::rdma::session
