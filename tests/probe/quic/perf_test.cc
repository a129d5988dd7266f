// The protocol "perf": what the gate lets in, and whole tests against a server in this process.
#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/net/socket.h"
#include "probe/quic/connection.h"
#include "probe/quic/endpoint.h"
#include "probe/quic/outcome.h"
#include "probe/quic/perf_client.h"
#include "probe/quic/perf_server.h"
#include "probe/quic/socket.h"

namespace chokepoint::probe::quic {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr Tuning kPerfTuning{.window_bytes = 1 << 20, .streams = 2, .protocol = Protocol::Perf};
constexpr std::int64_t kNow = 1'000'000'000;
constexpr std::int64_t kSecond = 1'000'000'000;

net::Endpoint at(const char* address, std::uint16_t port) {
  return {.address = net::Address::parse(address).value(), .port = port};
}

class GateTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_quic()) {
      GTEST_SKIP() << "this build has no QUIC library";
    }
    gate_ = Gate::make().value();
    client_ = Connection::connect({}, ends_, kPerfTuning, nullptr, kNow).value();
  }

  std::vector<std::byte> packet_of_client() {
    std::vector<std::byte> packet(kMaxPayload);
    packet.resize(client_->write(packet, kNow)->bytes);
    client_->sent(kNow);
    return packet;
  }

  Gate::Look look(const std::vector<std::byte>& packet, const net::Endpoint& from,
                  std::int64_t now_ns = kNow) {
    answer_.resize(kMaxPayload);
    const Gate::Look look =
        gate_->look(packet, ends_of(from, from).peer, std::span(answer_), now_ns);
    answer_.resize(look.answer_bytes);
    return look;
  }

  // What the client sends after it was told to come again.
  std::vector<std::byte> packet_with_token() {
    look(packet_of_client(), client_at_);
    EXPECT_TRUE(client_->read(answer_, 0, kNow));
    return packet_of_client();
  }

  const net::Endpoint client_at_ = at("10.0.0.1", 1000);
  const Ends ends_ = ends_of(client_at_, at("10.0.0.2", 4433));
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Connection> client_;
  std::vector<std::byte> answer_;
};

TEST_F(GateTest, AClientIsLetInOnceItHasShownItsAddress) {
  const auto first = packet_of_client();
  const Gate::Look looked = look(first, client_at_);
  EXPECT_FALSE(looked.opening);
  ASSERT_GT(looked.answer_bytes, 0U);
  EXPECT_LT(looked.answer_bytes, first.size());
  ASSERT_TRUE(client_->read(answer_, 0, kNow));
  const auto second = packet_of_client();
  const Gate::Look again = look(second, client_at_);
  ASSERT_TRUE(again.opening);
  EXPECT_EQ(again.answer_bytes, 0U);
  const auto identity = Identity::make().value();
  const auto server = Connection::accept(*identity, ends_of(at("10.0.0.2", 4433), client_at_),
                                         kPerfTuning, second, &*again.opening, kNow);
  ASSERT_TRUE(server) << describe(server.error());
  ASSERT_TRUE((*server)->read(second, 0, kNow));
  for (int i = 0; i < 10 && !client_->is_ready(); ++i) {
    std::array<std::byte, kMaxPayload> room{};
    for (auto written = (*server)->write(room, kNow); written->bytes > 0;
         written = (*server)->write(room, kNow)) {
      ASSERT_TRUE(client_->read(std::span(room).first(written->bytes), 0, kNow));
    }
  }
  EXPECT_TRUE(client_->is_ready()) << "the client holds what it was told against the server's word";
}

TEST_F(GateTest, ATokenIsGoodForItsAddressAndForAWhile) {
  const auto packet = packet_with_token();
  EXPECT_FALSE(look(packet, at("10.0.0.3", 1000)).opening);
  EXPECT_FALSE(look(packet, at("10.0.0.1", 1001)).opening);
  EXPECT_FALSE(look(packet, client_at_, kNow + 60 * kSecond).opening);
  EXPECT_TRUE(look(packet, client_at_).opening);
  gate_ = Gate::make().value();
  EXPECT_FALSE(look(packet, client_at_).opening) << "of another server";
}

TEST_F(GateTest, NothingIsLargerThanWhatItAnswers) {
  std::vector<std::byte> packet = packet_of_client();
  for (const unsigned version : {0U, 1U, 0x0a0a0a0aU, 0xffffffffU}) {
    for (std::size_t i = 0; i < 4; ++i) {
      packet[1 + i] = static_cast<std::byte>(version >> (8 * (3 - i)));
    }
    EXPECT_LT(look(packet, client_at_).answer_bytes, packet.size()) << version;
  }
  packet.resize(1199);
  EXPECT_EQ(look(packet, client_at_).answer_bytes, 0U);
  EXPECT_EQ(look({}, client_at_).answer_bytes, 0U);
}

TEST_F(GateTest, AnotherVersionIsToldWhichThereIs) {
  std::vector<std::byte> packet = packet_of_client();
  packet[1] = std::byte{0x1a};
  EXPECT_GT(look(packet, client_at_).answer_bytes, 0U);
  ASSERT_GE(answer_.size(), 5U);
  EXPECT_TRUE(std::ranges::all_of(std::span(answer_).subspan(1, 4),
                                  [](std::byte each) { return each == std::byte{0}; }));
}

TEST_F(GateTest, ARefusalReachesTheClient) {
  const auto packet = packet_with_token();
  std::vector<std::byte> refusal(kMaxPayload);
  refusal.resize(gate_->refuse(packet, refusal));
  ASSERT_TRUE(client_->read(refusal, 0, kNow));
  EXPECT_TRUE(client_->is_closed());
  EXPECT_THAT(client_->close_reason(), HasSubstr("refuses"));
}

TEST_F(GateTest, NonsenseIsNotAnswered) {
  for (unsigned first = 0; first < 256; ++first) {
    std::vector<std::byte> packet(1200, static_cast<std::byte>(first * 7));
    packet[0] = static_cast<std::byte>(first);
    EXPECT_LT(look(packet, client_at_).answer_bytes, packet.size()) << first;
    EXPECT_FALSE(look(packet, client_at_).opening) << first;
  }
}

class PerfTestOverLoopback : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_quic()) {
      GTEST_SKIP() << "this build has no QUIC library";
    }
  }
  ~PerfTestOverLoopback() override {
    const std::uint64_t one = 1;
    std::ignore = write(stop_.get(), &one, sizeof(one));
    if (server_.joinable()) {
      server_.join();
    }
  }

  void serve(const control::Limits& limits = {.streams = 4}) {
    std::vector<sys::Descriptor> listeners;
    listeners.push_back(listen_perf(at("127.0.0.1", 0)).value());
    port_ = net::local_endpoint(listeners.front().get())->port;
    server_ = std::thread([this, limits, listeners = std::move(listeners)]() mutable {
      EXPECT_TRUE(serve_perf(std::move(listeners), {.test_queue = test_queue_, .limits = limits},
                             stop_.get()));
    });
  }

  Result<PerfTest> run(
      const Parameters& parameters, const Watcher& watcher = [](Side, const IntervalMeasure&) {},
      int interrupt = -1) const {
    return run_perf({.peer = {.host = "127.0.0.1", .port = port_}, .interrupt = interrupt},
                    parameters, watcher);
  }

  Endpoint client_of(Protocol protocol) const {
    sys::Descriptor fd = net::bind_udp(at("127.0.0.1", 0), {}).value();
    EXPECT_TRUE(net::connect_udp(fd.get(), at("127.0.0.1", port_)));
    return {Socket::adopt(std::move(fd), true).value(), {}, protocol, sys::Root("/"), nullptr};
  }

  control::TestQueue test_queue_{false};
  sys::Descriptor stop_{eventfd(0, EFD_CLOEXEC)};
  std::uint16_t port_ = 0;
  std::thread server_;
};

TEST_F(PerfTestOverLoopback, EachDirectionIsMeasured) {
  serve();
  for (const Direction direction : {Direction::Send, Direction::Receive, Direction::Both}) {
    const Result<PerfTest> test = run({.direction = direction,
                                       .streams = 2,
                                       .time = 400ms,
                                       .interval = 50ms,
                                       .pace_bits_per_s = 50e6});
    ASSERT_TRUE(test) << describe(test.error());
    EXPECT_EQ(test->peer.port, port_);
    EXPECT_FALSE(test->trial.interrupted);
    for (const Direction way : {Direction::Send, Direction::Receive}) {
      const documents::QuicFigures figures = outcome_of(test->trial, way).figures;
      if (direction != way && direction != Direction::Both) {
        EXPECT_EQ(figures.bytes, 0U);
        continue;
      }
      EXPECT_GT(figures.bytes, 0U);
      EXPECT_FALSE(figures.lost);
      EXPECT_EQ(figures.sent_bytes.has_value(), way == Direction::Send);
      EXPECT_EQ(figures.packets_received.has_value(), way == Direction::Receive);
      std::uint64_t of_streams = 0;
      for (const documents::QuicStream& stream : figures.per_stream) {
        EXPECT_GT(stream.bytes, 0U);
        of_streams += stream.bytes;
      }
      EXPECT_EQ(of_streams, figures.bytes);
      if (way == Direction::Send) {
        EXPECT_EQ(figures.bytes, figures.sent_bytes) << "all that was sent is acknowledged";
      }
    }
  }
}

TEST_F(PerfTestOverLoopback, WhileOneClientIsServedAnotherIsRefused) {
  serve();
  const sys::Descriptor interrupt(eventfd(0, EFD_CLOEXEC));
  std::string refusal = "none came";
  std::uint64_t sent = 0;
  const Result<PerfTest> test = run(
      {.time = 60s, .interval = 20ms, .pace_bits_per_s = 50e6},
      [&](Side, const IntervalMeasure& interval) {
        sent += interval.sent_bytes;
        if (sent < 500'000) {  // more than is sent before the first of it is acknowledged
          return;
        }
        const Result<PerfTest> other = run({.time = 50ms, .interval = 10ms});
        refusal = other ? "it was served" : describe(other.error());
        const std::uint64_t one = 1;
        std::ignore = write(interrupt.get(), &one, sizeof(one));
      },
      interrupt.get());
  ASSERT_TRUE(test) << describe(test.error());
  EXPECT_TRUE(test->trial.interrupted);
  EXPECT_GT(outcome_of(test->trial, Direction::Send).figures.bytes, 0U);
  EXPECT_THAT(refusal, HasSubstr("busy"));
}

TEST_F(PerfTestOverLoopback, AClientIsRefusedWhileAnotherTestFillsThePath) {
  serve();
  control::TestQueue::Turn other(test_queue_, {.demand = control::Weight::Heavy, .who = "a test"});
  ASSERT_TRUE(other.take());
  const Result<PerfTest> test = run({.time = 50ms, .interval = 10ms});
  ASSERT_FALSE(test);
  EXPECT_THAT(describe(test.error()), HasSubstr("busy"));
}

TEST_F(PerfTestOverLoopback, LimitsHold) {
  serve({.longest_test = 300ms, .streams = 2});
  EXPECT_FALSE(run({.streams = 3, .time = 50ms, .interval = 10ms}));
  EXPECT_FALSE(run({.time = 60s, .interval = 1s, .pace_bits_per_s = 10e6}));
  EXPECT_TRUE(run({.time = 50ms, .interval = 10ms}));
}

TEST_F(PerfTestOverLoopback, StrangePacketsDisturbNobody) {
  serve();
  const sys::Descriptor stranger = net::bind_udp(at("127.0.0.1", 0), {}).value();
  ASSERT_TRUE(net::connect_udp(stranger.get(), at("127.0.0.1", port_)));
  for (unsigned i = 0; i < 512; ++i) {
    std::vector<std::byte> packet(i % 2 == 0 ? 1300 : i, static_cast<std::byte>(i));
    std::ignore = send(stranger.get(), packet.data(), packet.size(), 0);
  }
  const Result<PerfTest> test = run({.time = 50ms, .interval = 10ms});
  EXPECT_TRUE(test) << describe(test.error());
}

TEST_F(PerfTestOverLoopback, AClientThatIsGoneKeepsNobodyOut) {
  serve();
  std::optional<Endpoint> gone(client_of(Protocol::Perf));
  ASSERT_TRUE(gone->connect({}, nullptr));
  for (int i = 0; i < 500 && !gone->connection()->is_ready(); ++i) {
    ASSERT_TRUE(gone->turn(10ms, -1));
  }
  gone->begin(true, false);
  ASSERT_TRUE(gone->start());
  ASSERT_TRUE(gone->turn(10ms, -1));
  gone.reset();
  // Sooner than the ten seconds after which a silent client is given up.
  Result<PerfTest> next = run({.time = 50ms, .interval = 10ms});
  for (int i = 0; i < 80 && !next; ++i) {
    std::this_thread::sleep_for(50ms);
    next = run({.time = 50ms, .interval = 10ms});
  }
  EXPECT_TRUE(next) << describe(next.error());
}

TEST_F(PerfTestOverLoopback, AClientOfAnotherProtocolIsToldSo) {
  serve();
  Endpoint client = client_of(Protocol::Chokepoint);
  ASSERT_TRUE(client.connect({}, nullptr));
  for (int i = 0; i < 500 && !client.connection()->is_closed(); ++i) {
    const Result<> turned = client.turn(10ms, -1);
    ASSERT_TRUE(turned) << describe(turned.error());
  }
  EXPECT_THAT(client.connection()->close_reason(),
              HasSubstr("TLS: No supported application protocol"));
  EXPECT_TRUE(run({.time = 50ms, .interval = 10ms})) << "and the next client is served";
}

TEST(PerfPort, IsOneServersAlone) {
  const sys::Descriptor first = listen_perf(at("127.0.0.1", 0)).value();
  const Result<sys::Descriptor> second =
      listen_perf(at("127.0.0.1", net::local_endpoint(first.get())->port));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::Busy);
}

TEST_F(PerfTestOverLoopback, WhereNobodyListensItSaysSo) {
  sys::Descriptor was_open = net::bind_udp(at("127.0.0.1", 0), {}).value();
  port_ = net::local_endpoint(was_open.get())->port;
  was_open = {};
  const Result<PerfTest> test = run({.time = 50ms, .interval = 10ms});
  ASSERT_FALSE(test);
  EXPECT_THAT(describe(test.error()), HasSubstr("connection refused; does a server"));
}

}  // namespace
}  // namespace chokepoint::probe::quic
