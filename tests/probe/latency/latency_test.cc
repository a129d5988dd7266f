// Whole tests against a server in this process: the kernel's sockets, both ends' code.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "probe/latency/load.h"
#include "probe/latency/responder.h"
#include "probe/latency/test.h"
#include "tests/fakes/probe_server.h"

namespace chokepoint::probe::latency {
namespace {

using namespace std::chrono_literals;
using control::Client;

control::Services services() {
  control::Services all;
  all.push_back(latency_service());
  all.push_back(responsiveness_service());
  return all;
}

Result<latency::Test> open(Client& client, bool udp) {
  return latency::Test::open(client, {.time = 20s, .udp = udp}, {}, -1, [](const std::string&) {});
}

Pinging count_all() { return Pinging::Count; }

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
    const auto phase = asking.run(number, 100ms, -1, count_all);
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
  const auto phase = prober(*test).run(1, 50ms, -1, count_all);
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
  const auto phase = prober(*test).run(
      1, 100ms, -1, [&] { return ++asked > 5 ? Pinging::Count : Pinging::Discard; });
  ASSERT_TRUE(phase);
  EXPECT_EQ((*phase)->tcp.sent, std::max<std::uint64_t>(asked, 5) - 5);
}

TEST(Latency, AServerThatGoesEndsThePhase) {
  fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<latency::Test> test = open(*client, true);
  ASSERT_TRUE(test);
  server.stop();
  EXPECT_FALSE(prober(*test).run(1, 10s, -1, count_all));
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
    std::ignore = write(interrupt.get(), &one, sizeof(one));
    return Pinging::Count;
  });
  ASSERT_TRUE(phase);
  EXPECT_TRUE((*phase)->interrupted);
  EXPECT_GT((*phase)->tcp.answered(), 0U);
}

TEST(Latency, PingsEndWhenTheyAreToldTo) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<latency::Test> test = open(*client, false);
  ASSERT_TRUE(test);
  int asked = 0;
  const auto phase =
      prober(*test).run(1, 60s, -1, [&] { return ++asked > 3 ? Pinging::End : Pinging::Count; });
  ASSERT_TRUE(phase);
  EXPECT_EQ((*phase)->tcp.sent, 3U);
}

TEST(Responsiveness, ARequestTravelsUnchanged) {
  const control::Json sent = body_of(LoadRequest{.time = 3s, .streams = 4, .congestion = "cubic"});
  EXPECT_EQ(body_of(*load_request_in(sent)), sent);
  EXPECT_FALSE(load_request_in({{"time_ns", 1}, {"streams", 0}, {"congestion", ""}}));
}

constexpr int kStreams = 2;

// With a key as without: the handshake of a foreign probe is that of any client.
class Responsive : public testing::TestWithParam<bool> {
 protected:
  Responsive() : server_(services(), options()), client_(server_.client(key())) {}

  std::optional<control::Secret> key() const {
    return GetParam() ? std::optional(key_) : std::nullopt;
  }

  serve::ServerOptions options() const {
    serve::ServerOptions options{.own = {"chokepoint test", "hubble"}};
    if (GetParam()) {
      options.keys = control::KeyRing(key_);
    }
    return options;
  }

  void SetUp() override {
    ASSERT_TRUE(client_) << describe(client_.error());
    const Result<control::Json> ready =
        client_->request("responsiveness", body_of(LoadRequest{.time = 60s, .streams = kStreams}),
                         net::Deadline::of(10s), [](const std::string&) {});
    ASSERT_TRUE(ready) << describe(ready.error());
  }

  control::Secret key_ = control::random_secret();
  fakes::ProbeServer server_;
  Result<Client> client_;
};

void await(const Load& load, Load::Stage stage) {
  for (int i = 0; i < 3000 && load.stage() < stage; ++i) {
    std::this_thread::sleep_for(10ms);
  }
}

TEST_P(Responsive, MeasuresBothWaysAtOnce) {
  const auto load = Load::start(*client_, {.sends = true,
                                           .receives = true,
                                           .time = 200ms,
                                           .interval = 50ms,
                                           .max_connections = 1,
                                           .first_probe = kStreams});
  ASSERT_TRUE(load);
  await(**load, Load::Stage::Probing);
  for (int i = 0; i < 1000 && !(*load)->result().responsiveness.rpm; ++i) {
    std::this_thread::sleep_for(10ms);
  }
  (*load)->stop();
  const LoadResult result = (*load)->result();
  EXPECT_FALSE(result.error) << describe(*result.error);
  EXPECT_EQ(result.connections, 2);
  EXPECT_GT(result.send_mbps.value_or(0), 0);
  EXPECT_GT(result.receive_mbps.value_or(0), 0);
  const Responsiveness& is = result.responsiveness;
  ASSERT_TRUE(is.rpm);
  EXPECT_GT(*is.tcp_ms, 0);
  EXPECT_GT(*is.handshake_ms, 0);
  EXPECT_GT(*is.request_ms, 0);
  EXPECT_GT(is.self_path_ms.value_or(0), 0);
  EXPECT_EQ(is.failed_probes, 0U);
  EXPECT_GT((*load)->next_probe(), kStreams);
}

TEST_P(Responsive, SeveralLoadsFollowEachOther) {
  int first_probe = kStreams;
  for (const bool sends : {true, false}) {
    const auto load = Load::start(*client_, {.sends = sends,
                                             .receives = !sends,
                                             .time = 100ms,
                                             .interval = 20ms,
                                             .max_connections = 1,
                                             .first_stream = sends ? 0 : 1,
                                             .first_probe = first_probe});
    ASSERT_TRUE(load);
    for (int i = 0; i < 1000 && !(*load)->result().responsiveness.rpm; ++i) {
      std::this_thread::sleep_for(10ms);
    }
    (*load)->stop();
    EXPECT_TRUE((*load)->result().responsiveness.rpm);
    first_probe = (*load)->next_probe();
  }
  ASSERT_TRUE(client_->channel().send({control::Type::Stop}, net::Deadline::of(10s)));
  EXPECT_TRUE(client_->channel().expect(control::Type::Result, net::Deadline::of(10s)));
}

TEST_P(Responsive, AServerThatGoesEndsTheLoad) {
  const auto load =
      Load::start(*client_, {.time = 60s, .max_connections = 1, .first_probe = kStreams});
  ASSERT_TRUE(load);
  for (int i = 0; i < 1000 && (*load)->result().connections == 0; ++i) {
    std::this_thread::sleep_for(10ms);
  }
  server_.stop();
  await(**load, Load::Stage::Done);
  EXPECT_TRUE((*load)->result().error);
}

// What was heard of one connection opens no other one.
TEST_P(Responsive, ANumberOpensOneConnection) {
  const FrameHeadBytes get = bytes_of({.type = FrameType::Get, .number = 1});
  const auto answer = [&](int number) -> ssize_t {
    const auto opened = client_->attach_anew(number, get, net::Deadline::of(10s));
    EXPECT_TRUE(opened) << describe(opened.error());
    ObjectBytes object{};
    return net::receive_all(opened->fd.get(), object, net::Deadline::of(10s), "answer") ? 1 : 0;
  };
  EXPECT_EQ(answer(kStreams), 1);
  EXPECT_EQ(answer(kStreams), 0);
  EXPECT_EQ(answer(kStreams + 1), 1);
}

TEST_P(Responsive, AForeignConnectionThatFillsIsClosed) {
  const FrameHeadBytes fill = bytes_of({.type = FrameType::Fill});
  const auto opened = client_->attach_anew(kStreams, fill, net::Deadline::of(10s));
  ASSERT_TRUE(opened);
  std::array<std::byte, 8> bytes{};
  const Result<std::size_t> got =
      net::receive_some(opened->fd.get(), bytes, net::Deadline::of(10s), "answer");
  EXPECT_TRUE(!got || *got == 0);
}

INSTANTIATE_TEST_SUITE_P(WithAndWithoutKey, Responsive, testing::Bool());

TEST(Responsiveness, AnOlderServerKnowsNoSuchTest) {
  control::Services old;
  old.push_back(latency_service());
  const fakes::ProbeServer server(std::move(old));
  Result<Client> client = server.client();
  ASSERT_TRUE(client);
  const auto ready = client->request("responsiveness", body_of(LoadRequest{}),
                                     net::Deadline::of(10s), [](const std::string&) {});
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().kind, ErrorKind::Unsupported);
}

}  // namespace
}  // namespace chokepoint::probe::latency
