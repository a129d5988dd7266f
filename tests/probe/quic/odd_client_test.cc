// What a server of the protocol perf does with a client that does not do as this program's would.
#include "tests/probe/quic/odd_client.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/net/socket.h"
#include "probe/quic/perf_server.h"

namespace chokepoint::probe::quic {
namespace {

using testing::HasSubstr;

constexpr Tuning kTwoStreams{.window_bytes = 1 << 20, .streams = 2, .protocol = Protocol::Perf};

std::vector<std::byte> asking_for(std::uint64_t bytes, std::size_t data_bytes = 0) {
  std::vector<std::byte> request(8 + data_bytes);
  for (std::size_t i = 0; i < 8; ++i) {
    request[i] = static_cast<std::byte>(bytes >> (8 * (7 - i)));
  }
  return request;
}

class PerfServer : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(meeting_.shake_hands()); }

  void carry_until_acknowledged(std::uint64_t bytes) {
    for (int i = 0; i < 200 && server().counts().acknowledged_bytes < bytes; ++i) {
      meeting_.carry();
    }
    meeting_.carry();
  }
  Connection& server() { return *meeting_.server(); }

  std::unique_ptr<Identity> identity_ = module::make_identity().value();
  OddClientAndServer meeting_{*identity_, kTwoStreams};
};

TEST_F(PerfServer, AnswersWithAsMuchAsWasAskedFor) {
  const std::int64_t stream = meeting_.client().open_stream().value();
  meeting_.send(stream, asking_for(100'000, 300), true);
  carry_until_acknowledged(100'000);
  EXPECT_EQ(server().received_bytes(), 300U);
  EXPECT_EQ(server().counts().sent_bytes, 100'000U);
  EXPECT_EQ(meeting_.client().received_bytes(), 100'000U);
}

TEST_F(PerfServer, TheNumberMayComeByteByByte) {
  const std::int64_t stream = meeting_.client().open_stream().value();
  for (const std::byte byte : asking_for(5000)) {
    EXPECT_EQ(meeting_.send(stream, std::span(&byte, 1), false), 1U);
  }
  EXPECT_EQ(server().counts().sent_bytes, 0U) << "an answer before the request's end";
  meeting_.send(stream, {}, true);
  carry_until_acknowledged(5000);
  EXPECT_EQ(meeting_.client().received_bytes(), 5000U);
}

TEST_F(PerfServer, HalfANumberAsksForNothing) {
  const std::int64_t stream = meeting_.client().open_stream().value();
  const std::vector<std::byte> request = asking_for(UINT64_MAX);
  meeting_.send(stream, std::span(request).first(7), true);
  for (int i = 0; i < 10; ++i) {
    meeting_.carry();
  }
  EXPECT_TRUE(meeting_.is_well());
  EXPECT_EQ(server().counts().sent_bytes, 0U);
  EXPECT_EQ(server().received_bytes(), 0U);
}

TEST_F(PerfServer, RequestsThatAreTakenBackMakeRoomForOthers) {
  const std::vector<std::byte> request = asking_for(1000);
  for (int i = 0; i < 6; ++i) {
    const auto stream = meeting_.client().open_stream();
    ASSERT_TRUE(stream) << i;
    meeting_.send(*stream, std::span(request).first(4), false);
    meeting_.client().take_back(*stream);
    for (int j = 0; j < 10; ++j) {
      meeting_.carry();
    }
  }
  ASSERT_TRUE(meeting_.is_well());
  EXPECT_EQ(server().counts().sent_bytes, 0U);
}

TEST_F(PerfServer, AnAnswerThatIsNotWantedAnyMoreEnds) {
  const std::int64_t stream = meeting_.client().open_stream().value();
  meeting_.send(stream, asking_for(UINT64_MAX), true);
  carry_until_acknowledged(100'000);
  meeting_.client().want_no_more(stream);
  for (int i = 0; i < 10; ++i) {
    meeting_.carry();
  }
  const std::uint64_t sent = server().counts().sent_bytes;
  EXPECT_GT(sent, 0U);
  for (int i = 0; i < 10; ++i) {
    meeting_.carry();
  }
  EXPECT_EQ(server().counts().sent_bytes, sent);
  EXPECT_TRUE(meeting_.client().open_stream()) << "and its stream is free";
}

// What is told to a client that speaks another protocol than the server's.
TEST(Failed, TheOtherEndIsToldWhy) {
  const auto identity = module::make_identity().value();
  OddClient client(OddClientAndServer::ends(1, 2), {.window_bytes = 1 << 20, .streams = 2});
  constexpr std::int64_t kNow = 1'000'000'000;
  ASSERT_TRUE(client.open_as_client(
      {}, {.window_bytes = 1 << 20, .streams = 2, .protocol = Protocol::Chokepoint}, nullptr,
      kNow));
  std::array<std::byte, kMaxPayload> room{};
  const auto packet = std::span(room).first(client.write(room, kNow)->bytes);
  auto server = module::accept_connection(*identity, OddClientAndServer::ends(2, 1), kTwoStreams,
                                          packet, nullptr, kNow);
  ASSERT_TRUE(server);
  ASSERT_FALSE((*server)->read(packet, 0, kNow));
  const std::size_t bytes = (*server)->close(room, kNow);
  ASSERT_GT(bytes, 0U);
  ASSERT_TRUE(client.read(std::span(room).first(bytes), 0, kNow));
  EXPECT_TRUE(client.is_closed());
  EXPECT_THAT(client.close_reason(), HasSubstr("TLS: No supported application protocol"));
}

// The second packet of a large ClientHello comes to the listening socket while the first one is
// looked at. The client's clock stands still: it sends nothing again.
TEST(PerfAcceptor, AClientHelloMayTakeSeveralPackets) {
  if (!can_quic()) {
    GTEST_SKIP() << "the program has no QUIC library";
  }
  control::TestQueue test_queue(false);
  const sys::Descriptor stop(eventfd(0, EFD_CLOEXEC));
  const net::Endpoint loopback{.address = net::Address::parse("127.0.0.1").value(), .port = 0};
  std::vector<sys::Descriptor> listeners;
  listeners.push_back(listen_perf(loopback).value());
  const net::Endpoint at = net::local_endpoint(listeners.front().get()).value();
  std::thread server([&] {
    EXPECT_TRUE(serve_perf(std::move(listeners), {.test_queue = test_queue}, stop.get()));
  });

  const sys::Descriptor fd = net::bind_udp(loopback, {}).value();
  ASSERT_TRUE(net::connect_udp(fd.get(), at));
  OddClient client(ends_of(net::local_endpoint(fd.get()).value(), at), kTwoStreams);
  constexpr std::int64_t kNow = 1'000'000'000;
  ASSERT_TRUE(client.open_as_client({}, kTwoStreams, nullptr, kNow));
  client.enlarge_hello();
  std::array<std::byte, 2048> room{};
  int largest_flight = 0;
  pollfd readable{fd.get(), POLLIN, 0};
  do {
    int flight = 0;
    for (auto written = client.write(room, kNow); written && written->bytes > 0;
         written = client.write(room, kNow)) {
      std::ignore = send(fd.get(), room.data(), written->bytes, 0);
      ++flight;
    }
    client.sent(kNow);
    largest_flight = std::max(largest_flight, flight);
    const ssize_t got = recv(fd.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (got > 0) {
      ASSERT_TRUE(client.read(std::span(room).first(static_cast<std::size_t>(got)), 0, kNow));
    }
  } while (!client.is_ready() && poll(&readable, 1, 4000) > 0);
  EXPECT_GE(largest_flight, 2);
  EXPECT_TRUE(client.is_ready());

  const std::uint64_t one = 1;
  std::ignore = write(stop.get(), &one, sizeof(one));
  server.join();
}

}  // namespace
}  // namespace chokepoint::probe::quic
