// Whole tests against a server in this process: the kernel's sockets, both ends' code.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "probe/latency/load.h"
#include "probe/latency/test.h"
#include "probe/tcp/trial.h"
#include "tests/fakes/probe_server.h"

namespace chokepoint::probe::latency {
namespace {

using namespace std::chrono_literals;
using control::Client;

control::Services services() {
  control::Services all;
  all.push_back(std::make_unique<LatencyService>());
  all.push_back(std::make_unique<tcp::TcpService>());
  return all;
}

Result<latency::Test> open(Client& client, bool udp) {
  return latency::Test::open(client, {.time = 20s, .udp = udp}, {}, -1, [](const std::string&) {});
}

Prober prober(const latency::Test& test) {
  return Prober({.tcp = test.tcp(), .udp = test.udp(), .test = test.id()}, 1ms);
}

TEST(Latency, ARequestTravelsUnchanged) {
  const control::Json sent = body_of(Parameters{.time = 3s, .udp = false});
  EXPECT_EQ(body_of(*parameters_in(sent)), sent);
  EXPECT_FALSE(parameters_in({{"time_ns", 0}, {"udp", true}}));
}

TEST(Latency, EveryPingComesBackOverBoth) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<latency::Test> test = open(*client, true);
  ASSERT_TRUE(test) << describe(test.error());
  Prober asking = prober(*test);
  for (std::uint16_t number = 1; number <= 2; ++number) {
    const auto phase = asking.run(number, 100ms, -1, [] { return true; });
    ASSERT_TRUE(phase) << describe(phase.error());
    EXPECT_GT((*phase)->tcp.sent, 0U);
    EXPECT_EQ((*phase)->tcp.answered(), (*phase)->tcp.sent);
    EXPECT_EQ((*phase)->udp.answered(), (*phase)->udp.sent);
    EXPECT_GT((*phase)->udp.histogram.min(), 0U);
  }
  EXPECT_TRUE(test->close());
}

TEST(Latency, WithoutUdpTcpAlone) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<latency::Test> test = open(*client, false);
  ASSERT_TRUE(test) << describe(test.error());
  EXPECT_EQ(test->udp(), -1);
  const auto phase = prober(*test).run(1, 50ms, -1, [] { return true; });
  ASSERT_TRUE(phase);
  EXPECT_EQ((*phase)->tcp.answered(), (*phase)->tcp.sent);
  EXPECT_EQ((*phase)->udp.sent, 0U);
}

TEST(Latency, PingsBeforeTheLoadIsFullDoNotCount) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<latency::Test> test = open(*client, true);
  ASSERT_TRUE(test);
  std::uint64_t asked = 0;
  const auto phase = prober(*test).run(1, 100ms, -1, [&] { return ++asked > 5; });
  ASSERT_TRUE(phase);
  EXPECT_EQ((*phase)->tcp.sent, std::max<std::uint64_t>(asked, 5) - 5);
}

TEST(Latency, AServerThatGoesEndsThePhase) {
  fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<latency::Test> test = open(*client, true);
  ASSERT_TRUE(test);
  server.stop();
  EXPECT_FALSE(prober(*test).run(1, 10s, -1, [] { return true; }));
}

TEST(Latency, AUserWhoInterruptsKeepsWhatWasMeasured) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<latency::Test> test = open(*client, true);
  ASSERT_TRUE(test);
  const sys::Descriptor interrupt(eventfd(0, EFD_CLOEXEC));
  int asked = 0;
  const auto phase = prober(*test).run(1, 60s, interrupt.get(), [&] {
    const std::uint64_t one = ++asked == 20 ? 1 : 0;
    return write(interrupt.get(), &one, sizeof(one)) == sizeof(one);
  });
  ASSERT_TRUE(phase);
  EXPECT_TRUE((*phase)->interrupted);
  EXPECT_GT((*phase)->tcp.answered(), 0U);
}

TEST(Load, FillsThePathAndEndsWhenToldTo) {
  const fakes::ProbeServer server(services());
  for (const tcp::Direction direction : {tcp::Direction::Send, tcp::Direction::Receive}) {
    const auto load =
        Load::start([&](int) { return server.client(); },
                    {.direction = direction, .time = 60s, .max_connections = 1}, sys::Root("/"));
    ASSERT_TRUE(load);
    for (int i = 0; i < 1000 && (*load)->result().throughput_mbps.value_or(0) <= 0; ++i) {
      std::this_thread::sleep_for(10ms);
    }
    (*load)->stop();
    const LoadResult result = (*load)->result();
    EXPECT_EQ(result.connections, 1);
    EXPECT_GT(result.throughput_mbps.value_or(0), 0);
    EXPECT_TRUE((*load)->full());
    EXPECT_FALSE(result.error);
  }
}

TEST(Load, OneThatCannotBeSaysWhy) {
  const auto load =
      Load::start([](int) -> Result<Client> { return fail(ErrorKind::Refused, "", "peer", "no"); },
                  {.time = 60s}, sys::Root("/"));
  ASSERT_TRUE(load);
  for (int i = 0; i < 1000 && !(*load)->full(); ++i) {
    std::this_thread::sleep_for(10ms);
  }
  const LoadResult result = (*load)->result();
  ASSERT_TRUE(result.error);
  EXPECT_EQ(result.error->kind, ErrorKind::Refused);
  EXPECT_EQ(result.connections, 0);
}

}  // namespace
}  // namespace chokepoint::probe::latency
