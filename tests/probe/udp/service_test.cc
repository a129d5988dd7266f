// Whole tests against a server in this process: the kernel's sockets, both ends' code.
#include <gmock/gmock.h>
#include <poll.h>

#include "probe/udp/exchange.h"
#include "probe/udp/outcome.h"
#include "probe/udp/rendezvous.h"
#include "probe/udp/search.h"
#include "probe/udp/test.h"
#include "tests/fakes/probe_server.h"

namespace chokepoint::probe::udp {
namespace {

using namespace std::chrono_literals;
using control::Client;
using control::Json;
using control::Message;
using control::Type;
using net::Deadline;
using testing::HasSubstr;

control::Services services() {
  control::Services all;
  all.push_back(udp_service());
  return all;
}

Deadline soon() { return Deadline::of(10s); }

Result<udp::Test> open(Client& client, const Parameters& parameters) {
  return udp::Test::open(client, parameters, {}, -1, [](const std::string&) {});
}

RunPlan plan(double bits_per_s) {
  return {
      .run = 1, .packet_bytes = 1000, .bits_per_s = bits_per_s, .time = 200ms, .interval = 50ms};
}

void expect_whole(const Outcome& outcome) {
  EXPECT_GT(outcome.figures.packets_sent, 100U);
  EXPECT_EQ(outcome.figures.packets_received, outcome.figures.packets_sent);
  EXPECT_EQ(outcome.figures.lost, 0U);
  EXPECT_EQ(outcome.figures.bytes, outcome.figures.packets_received * 1000);
  EXPECT_EQ(outcome.figures.duplicates, 0U);
  EXPECT_TRUE(outcome.figures.jitter_ms);
  EXPECT_TRUE(outcome.figures.burst);
}

TEST(UdpService, BothWaysAtOnceOverSeveralStreams) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  const Parameters parameters{.direction = Direction::Both, .streams = 2, .time = 1s};
  Result<udp::Test> test = open(*client, parameters);
  ASSERT_TRUE(test) << describe(test.error());
  RunPlan asked = plan(20e6);
  asked.peer_clock = test->measure_clock();
  ASSERT_TRUE(asked.peer_clock);
  LiveCounts seen;
  const Result<RunResult> result =
      test->run(asked, [&](const Live& live) { seen = live.received; });
  ASSERT_TRUE(result) << describe(result.error());
  for (const Outcome& outcome : outcomes_of(*result, asked, Direction::Both)) {
    expect_whole(outcome);
    EXPECT_EQ(outcome.figures.per_stream.size(), 2U);
    EXPECT_EQ(outcome.figures.one_way_delay_ms->count, outcome.figures.packets_received);
  }
  EXPECT_EQ(seen.packets, outcome_of(*result, asked, Direction::Receive).figures.packets_received);
  EXPECT_TRUE(test->close());
}

TEST(UdpService, ATestHasAsManyRunsAsItTakes) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<udp::Test> test = open(*client, {.time = 1s, .bits_per_s = 20e6});
  ASSERT_TRUE(test) << describe(test.error());
  for (std::uint16_t run = 1; run <= 3; ++run) {
    RunPlan asked = plan(20e6);
    asked.run = run;
    const Result<RunResult> result = test->run(asked, [](const Live&) {});
    ASSERT_TRUE(result) << describe(result.error());
    expect_whole(outcome_of(*result, asked, Direction::Send));
  }
  EXPECT_TRUE(test->close());
  EXPECT_TRUE(open(*client, {.time = 1s})) << "and the next test may come";
}

TEST(UdpService, OneMachineHasOneClock) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  Result<udp::Test> test = open(*client, {});
  ASSERT_TRUE(test) << describe(test.error());
  const std::optional<ClockOffset> clock = test->measure_clock();
  ASSERT_TRUE(clock);
  EXPECT_LE(std::llabs(clock->offset_ns), clock->uncertainty_ns);
}

TEST(UdpService, AnInterruptedRunIsWhatWasMeasuredUntilThen) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  const sys::Descriptor interrupt(eventfd(0, EFD_CLOEXEC));
  Result<udp::Test> test = udp::Test::open(*client, {.direction = Direction::Both, .time = 60s}, {},
                                           interrupt.get(), [](const std::string&) {});
  ASSERT_TRUE(test) << describe(test.error());
  RunPlan asked = plan(20e6);
  asked.time = 60s;
  const Result<RunResult> result = test->run(asked, [&](const Live& live) {
    const std::uint64_t one = live.received.packets > 100 && live.sent.packets > 100 ? 1 : 0;
    std::ignore = write(interrupt.get(), &one, sizeof(one));
  });
  ASSERT_TRUE(result) << describe(result.error());
  EXPECT_TRUE(result->interrupted);
  for (const Outcome& outcome : outcomes_of(*result, asked, Direction::Both)) {
    expect_whole(outcome);
  }
}

TEST(UdpService, MoreThanIsGrantedIsRefused) {
  const fakes::ProbeServer server(services(), {},
                                  {.longest_test = 10s, .streams = 4, .rate_bits_per_s = 1e6});
  const auto refused = [&](const Parameters& parameters) {
    Result<Client> client = server.client();
    const Result<udp::Test> test = open(*client, parameters);
    return test ? std::string("granted") : describe(test.error());
  };
  EXPECT_THAT(refused({.time = 11s}), HasSubstr("11"));
  EXPECT_THAT(refused({.direction = Direction::Both, .streams = 3, .time = 1s}), HasSubstr("4"));
  EXPECT_NE(refused({.time = 1s, .bits_per_s = 2e6}), "granted");
  EXPECT_NE(refused({.time = 1s, .bits_per_s = 0}), "granted") << "as fast as it goes";
  EXPECT_EQ(refused({.time = 1s, .bits_per_s = 1e6}), "granted");
  Result<Client> client = server.client();
  Result<udp::Test> searching = open(*client, {.time = 1s});
  ASSERT_TRUE(searching);
  EXPECT_FALSE(searching->run(plan(2e6), [](const Live&) {})) << "nor in the midst of a search";
}

// The server's side of a rendezvous, and a stranger's tries at it.
class Rendezvous : public testing::Test {
 protected:
  void SetUp() override {
    client_ = server_.client();
    ready_ = *client_->request("udp", body_of(Parameters{}), soon(), [](const std::string&) {});
    test_ = ready_.at("test").get<std::uint64_t>();
    secret_ = *control::from_hex(ready_.at("flows").at(0).at("secret").get<std::string>());
  }

  PacketHead hello() const { return {.kind = PacketKind::Hello, .stream = 0, .test = test_}; }

  std::optional<Exchanged> answer_to(std::string_view from, const ExchangePacket& packet) {
    socket_ = *open_flow(*net::Address::parse(from), {}, room_);
    const net::Endpoint peer{.address = *net::Address::parse("127.0.0.1"),
                             .port = ready_.at("flows").at(0).at("port").get<std::uint16_t>()};
    EXPECT_TRUE(bind_flow_to(socket_.get(), peer));
    send_exchange(socket_.get(), packet);
    std::ignore = net::wait_for(socket_.get(), POLLIN, Deadline::of(300ms), "hear", "server");
    return receive_exchange(socket_.get());
  }

  Result<Message> prove(Json proofs) {
    std::ignore = client_->channel().send({Type::Note, {{"proofs", std::move(proofs)}}}, soon());
    return client_->channel().expect(Type::Note, soon());
  }

  const fakes::ProbeServer server_{services()};
  Result<Client> client_ = fail(ErrorKind::Io, "", "", "");
  Json ready_;
  std::uint64_t test_ = 0;
  Secret secret_ = {};
  sys::Descriptor socket_;
  std::int64_t room_ = 0;
};

TEST_F(Rendezvous, WhoKnowsTheSecretIsAnsweredWithNoMore) {
  const auto answer = answer_to("127.0.0.1", secret_packet(hello(), secret_));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->head.kind, PacketKind::Welcome);
  EXPECT_TRUE(prove(Json::array({control::to_hex(*secret_of(answer->packet))})));
}

TEST_F(Rendezvous, ASecretThatIsWrongGetsNothing) {
  Secret wrong = secret_;
  wrong[31] ^= 1;
  EXPECT_FALSE(answer_to("127.0.0.1", secret_packet(hello(), wrong)));
}

TEST_F(Rendezvous, AnotherAddressGetsNothingEvenWithTheSecret) {
  EXPECT_FALSE(answer_to("127.0.0.2", secret_packet(hello(), secret_)));
}

TEST_F(Rendezvous, DataAndPingsGetNothing) {
  PacketHead head = hello();
  for (const PacketKind kind : {PacketKind::Ping, PacketKind::Data, PacketKind::Welcome}) {
    head.kind = kind;
    EXPECT_FALSE(answer_to("127.0.0.1", secret_packet(head, secret_)));
  }
}

TEST_F(Rendezvous, WhoDidNotHearTheWelcomeGetsNoData) {
  ASSERT_TRUE(answer_to("127.0.0.1", secret_packet(hello(), secret_)));
  const Result<Message> refused = prove(Json::array({std::string(64, '0')}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(describe(refused.error()), HasSubstr("proof"));
}

TEST_F(Rendezvous, ProofsThatAreNoneAreRefused) { EXPECT_FALSE(prove(Json::array({7}))); }

}  // namespace
}  // namespace chokepoint::probe::udp
