// The probers, the introduction and the families on loopback, with real sockets.
#include <gtest/gtest.h>

#include <thread>

#include "base/net/socket.h"
#include "probe/path/exchange.h"
#include "probe/path/families.h"
#include "probe/path/outcome.h"
#include "probe/path/survey.h"
#include "probe/path/trace.h"
#include "tests/probe/path/made_up_path.h"

namespace chokepoint::probe::path {
namespace {

using made_up::at;
using std::chrono::seconds;

constexpr std::int64_t kLong = 20'000'000'000;

sys::Descriptor udp_on(const std::string& address) {
  return net::bind_udp({.address = at(address)}, {}).value();
}

net::Endpoint where(const sys::Descriptor& socket) {
  return net::local_endpoint(socket.get()).value();
}

class Sockets : public testing::TestWithParam<std::string> {
 protected:
  // A port that was free a moment ago.
  net::Endpoint nobody() const { return where(udp_on(GetParam())); }
  std::int64_t later() const { return clock_.monotonic_ns() + kLong; }

  sys::SystemClock clock_;
};

INSTANTIATE_TEST_SUITE_P(Families, Sockets, testing::Values("127.0.0.1", "::1"));

TEST_P(Sockets, UdpReachesThisHostInOneHop) {
  auto prober = UdpProber::open(nobody(), {}, kSmallPacketBytes, clock_);
  ASSERT_TRUE(prober);
  const Result<Trace> found = trace(*prober, {}, clock_, later());
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->reached);
  ASSERT_EQ(found->hops.size(), 1U);
  EXPECT_EQ(found->hops[0].address(), at(GetParam()));
  EXPECT_GE(found->hops[0].rtt_ms.at(0), 0);
}

TEST_P(Sockets, TcpIsAnsweredByAListenerAndByARefusal) {
  const auto listener = net::listen({.address = at(GetParam())}, 8, {});
  ASSERT_TRUE(listener);
  for (const net::Endpoint& target : {where(*listener), nobody()}) {
    TcpProber prober(target, {}, clock_);
    const Result<Trace> found = trace(prober, {}, clock_, later());
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->reached) << target.text();
    EXPECT_EQ(found->hops.size(), 1U);
  }
}

TEST_P(Sockets, TwoEndsTraceOneFlowAtTheSameTime) {
  sys::Descriptor one = udp_on(GetParam());
  sys::Descriptor other = udp_on(GetParam());
  ASSERT_TRUE(net::connect_udp(one.get(), where(other)));
  ASSERT_TRUE(net::connect_udp(other.get(), where(one)));
  auto here = UdpProber::adopt(std::move(one), -1, clock_);
  auto there = UdpProber::adopt(std::move(other), -1, clock_);
  ASSERT_TRUE(here && there);
  std::atomic<int> done = 0;
  const auto run = [&](UdpProber& flow) {
    Result<Survey> found = survey(flow, {}, clock_, later());
    ++done;
    while (done < 2) {
      std::ignore = flow.collect(std::chrono::milliseconds(5));
    }
    return found;
  };
  Result<Survey> back;
  std::thread peer([&] { back = run(*there); });
  const Result<Survey> forth = run(*here);
  peer.join();
  for (const auto* found : std::initializer_list<const Result<Survey>*>{&forth, &back}) {
    ASSERT_TRUE(*found);
    EXPECT_TRUE((*found)->trace.reached);
    EXPECT_EQ((*found)->trace.hops.at(0).answered, 3);
    EXPECT_EQ((*found)->mtu->path_mtu_bytes, (*found)->mtu->interface_mtu_bytes);
  }
}

TEST_P(Sockets, AClientWithTheTokenIsMet) {
  sys::Descriptor socket = udp_on(GetParam());
  const net::Endpoint server = where(socket);
  UdpGreeter greeter(std::move(socket), at(GetParam()), "token");
  std::atomic<bool> over = false;
  std::thread door([&] {
    while (!over) {
      greeter.answer();
    }
  });
  EXPECT_TRUE(introduce(at(GetParam()), server, "token", net::Deadline::of(seconds(10))));
  over = true;
  door.join();
  EXPECT_TRUE(greeter.met());
  EXPECT_TRUE(greeter.release());
}

TEST_P(Sockets, AStrangerGetsNoAnswer) {
  sys::Descriptor socket = udp_on(GetParam());
  const net::Endpoint server = where(socket);
  UdpGreeter greeter(std::move(socket), at(GetParam()), "token");
  const sys::Descriptor stranger = udp_on(GetParam());
  ASSERT_TRUE(net::connect_udp(stranger.get(), server));
  for (const std::string& greeting : {std::string("ckpgguess"), std::string(100, 'x')}) {
    ASSERT_GT(send(stranger.get(), greeting.data(), greeting.size(), 0), 0);
    greeter.answer();
  }
  EXPECT_FALSE(greeter.met());
  std::array<char, 16> nothing{};
  EXPECT_LT(recv(stranger.get(), nothing.data(), nothing.size(), MSG_DONTWAIT), 0);
}

TEST_P(Sockets, FamiliesAreTriedForWhatTheyAre) {
  const auto listener = net::listen({.address = at(GetParam())}, 8, {});
  ASSERT_TRUE(listener);
  const auto deadline = net::Deadline::of(seconds(20));
  const net::Family family = at(GetParam()).family();
  const auto open = examine(GetParam(), where(*listener).port, {}, deadline);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->of(family).connection, Connection::Connected);
  EXPECT_TRUE(open->of(family).connect_ms);
  EXPECT_TRUE(open->is_address);
  const auto closed = examine(GetParam(), nobody().port, {}, deadline);
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->of(family).connection, Connection::Refused);
  EXPECT_TRUE(closed->of(family).answers());
}

TEST(Introduction, SilenceIsATimeout) {
  const sys::Descriptor deaf = udp_on("127.0.0.1");
  const auto met = introduce(at("127.0.0.1"), where(deaf), "token",
                             net::Deadline::of(std::chrono::milliseconds(150)));
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().kind, ErrorKind::Timeout);
}

}  // namespace
}  // namespace chokepoint::probe::path
