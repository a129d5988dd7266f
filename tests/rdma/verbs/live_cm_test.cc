// Queue pairs connected by rdma_cm.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <future>

#include "rdma/verbs/cm.h"
#include "tests/rdma/verbs/live_fixture.h"

namespace chokepoint::rdma::verbs {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

using Connected = Result<std::unique_ptr<CmConnections>>;

class LiveCm : public KernelTest {
 protected:
  // What its device's GID says.
  net::Address own_address() {
    in6_addr raw{};
    const Result<Port> port = device().port(1);
    const auto entry = std::ranges::find(port->gids, gid_index_, &GidEntry::index);
    std::memcpy(&raw, entry->gid.bytes.data(), sizeof(raw));
    return net::Address::v6(raw, 0).unmapped();
  }

  std::unique_ptr<CmListener> listener() {
    auto opened = listen_by_cm({.address = own_address(), .port = 0});
    EXPECT_TRUE(opened) << describe(opened.error());
    return opened ? std::move(*opened) : nullptr;
  }

  CmPeer peer(const CmListener& listener) {
    return {.address = {.address = own_address(), .port = listener.port()},
            .token = listener.token()};
  }

  static std::future<Connected> accepting(CmListener& listener, Endpoint& target,
                                          std::chrono::nanoseconds deadline) {
    return std::async(std::launch::async, [&listener, &target, deadline] {
      return listener.accept(target, path(), net::Deadline::of(deadline));
    });
  }

  Connected connect(Endpoint& source, const CmPeer& to) {
    return connect_by_cm(source, to, path(), net::Deadline::of(seconds(10)));
  }
};

TEST_F(LiveCm, EveryQueuePairIsConnectedToItsOwn) {
  EndpointOptions wanted = options();
  wanted.queues = 3;
  const Ends ends = open_ends(wanted);
  const auto listening = listener();
  auto accepted = accepting(*listening, *ends.target, seconds(10));
  const Connected connected = connect(*ends.source, peer(*listening));
  ASSERT_TRUE(connected) << describe(connected.error());
  const Connected other = accepted.get();
  ASSERT_TRUE(other) << describe(other.error());

  Piece from = piece(64);
  Piece to = piece(64);
  const LocalMemory slot = to.local(64);
  for (int queue = 0; queue < 3; ++queue) {
    const SendRequest request{.operation = Operation::Send, .local = from.local(64)};
    ASSERT_TRUE(ends.target->lay_out_receives(queue, std::span(&slot, 1)));
    ASSERT_EQ(ends.target->post_receives(queue, 0, 1), 0);
    ASSERT_TRUE(ends.source->lay_out_sends(queue, std::span(&request, 1)));
    ASSERT_EQ(ends.source->post_sends(queue, 0, 1, true), 0);
    EXPECT_EQ(next_send(*ends.source).status, 0);
    EXPECT_EQ(next_receive(*ends.target).queue, queue);
  }
  const Completion read = complete(*ends.source, to_remote(Operation::Read, from, to, 64));
  EXPECT_EQ(read.status, 0) << describe(explain(read, "loopback"));
}

TEST_F(LiveCm, AStrangerIsSentAwayAndThePeerIsStillLetIn) {
  const Ends ends = open_ends(options());
  const Ends strange = open_ends(options());
  const auto listening = listener();
  auto accepted = accepting(*listening, *ends.target, seconds(20));
  CmPeer without = peer(*listening);
  without.token.bytes[0] ^= 1U;
  const Connected stranger = connect(*strange.source, without);
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().kind, ErrorKind::Refused);
  EXPECT_THAT(describe(stranger.error()), HasSubstr("the peer sent this side away"));
  const Connected connected = connect(*ends.source, peer(*listening));
  EXPECT_TRUE(connected) << describe(connected.error());
  EXPECT_TRUE(accepted.get());
}

TEST_F(LiveCm, WhereNobodyListensItIsTold) {
  const Ends ends = open_ends(options());
  const CmPeer nobody{.address = {.address = own_address(), .port = 1}};
  const Connected connected = connect(*ends.source, nobody);
  ASSERT_FALSE(connected);
  EXPECT_THAT(describe(connected.error()), HasSubstr("no program listens there"));
}

TEST_F(LiveCm, WhoIsNotAskedWaitsNoLongerThanItsPatience) {
  const Ends ends = open_ends(options());
  const auto listening = listener();
  const Connected accepted = accepting(*listening, *ends.target, milliseconds(50)).get();
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().kind, ErrorKind::Timeout);
}

TEST_F(LiveCm, WhoIsNotAnsweredWaitsNoLongerThanItsPatience) {
  const Ends ends = open_ends(options());
  const auto listening = listener();
  const Connected connected =
      connect_by_cm(*ends.source, peer(*listening), path(), net::Deadline::of(milliseconds(200)));
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().kind, ErrorKind::Timeout);
}

TEST_F(LiveCm, AnAddressThatIsNotItsDevicesIsToldWhatToGive) {
  const Ends ends = open_ends(options());
  const net::Address other = *net::Address::parse("127.0.0.1");
  const Connected connected = connect(*ends.source, {.address = {.address = other, .port = 1}});
  ASSERT_FALSE(connected);
  EXPECT_THAT(describe(connected.error()), HasSubstr("give addresses of the RDMA devices' own"));
}

TEST_F(LiveCm, OnlyRcIsConnectedByIt) {
  const Ends ends = open_ends(options(Transport::Ud));
  const Connected connected = connect(*ends.source, {.address = {.address = own_address()}});
  ASSERT_FALSE(connected);
  EXPECT_THAT(describe(connected.error()), HasSubstr("choose RC, or leave out --cm"));
}

TEST_F(LiveCm, ANewTestCanFollowAtOnce) {
  for (int turn = 0; turn < 5; ++turn) {
    const Ends ends = open_ends(options());
    const auto listening = listener();
    auto accepted = accepting(*listening, *ends.target, seconds(10));
    const Connected connected = connect(*ends.source, peer(*listening));
    EXPECT_TRUE(connected) << describe(connected.error());
    EXPECT_TRUE(accepted.get());
  }
}

}  // namespace
}  // namespace chokepoint::rdma::verbs
