// Both sides of the handshake against peers that do not behave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <future>
#include <memory>
#include <optional>

#include "base/control/test_queue.h"
#include "probe/iperf3/client.h"
#include "probe/iperf3/protocol.h"
#include "probe/iperf3/server.h"
#include "tests/probe/peer/own_server.h"
#include "tests/probe/peer/script.h"

namespace chokepoint::probe::iperf3 {
namespace {

using peers::Script;
using testing::HasSubstr;

const std::string kCookie = std::string(36, 'a') + '\0';
const std::string kOtherCookie = std::string(36, 'b') + '\0';
const std::string kParamExchange = "\x09";
const std::string kCreateStreams = "\x0a";
const std::string kDenied = "\xff";
const std::string kError = "\xfe";

using SharedTestQueue = std::shared_ptr<control::TestQueue>;

peers::OwnServer::Serve own_server(
    const SharedTestQueue& test_queue = std::make_shared<control::TestQueue>(false)) {
  return [test_queue](auto listeners, auto log, int stop) {
    return serve(std::move(listeners), {.test_queue = *test_queue, .log = log}, stop);
  };
}

// A test of another kind that fills the path.
control::TestQueue::Test another() {
  return {.demand = control::Weight::Heavy, .who = "tcp by 10.0.0.2", .owner = "voyager"};
}

std::string framed(const std::string& json) {
  const auto length = encode_length(json.size());
  return std::string(reinterpret_cast<const char*>(length.data()), length.size()) + json;
}

// A client that has got as far as the parameters.
Script welcomed(const peers::OwnServer& server) {
  Script client = Script::to(server.at());
  EXPECT_EQ(client.say(kCookie).hear(1), kParamExchange);
  return client;
}

TEST(Iperf3Server, TellsOthersThatItIsBusy) {
  const peers::OwnServer server(0, own_server());
  const Script first = welcomed(server);
  Script second = Script::to(server.at());
  EXPECT_EQ(second.say(kOtherCookie).hear(1), kDenied);
  EXPECT_TRUE(second.is_closed());
}

TEST(Iperf3Server, TellsThatItIsBusyWithATestOfAnotherKind) {
  for (const bool exclusive : {false, true}) {
    const auto test_queue = std::make_shared<control::TestQueue>(exclusive);
    std::optional<control::TestQueue::Turn> other;
    other.emplace(*test_queue, another());
    ASSERT_TRUE(other->take());
    const peers::OwnServer server(0, own_server(test_queue));
    Script client = Script::to(server.at());
    EXPECT_EQ(client.say(kCookie).hear(1), kDenied);
    EXPECT_TRUE(client.is_closed());
    other.reset();
    welcomed(server);
  }
}

TEST(Iperf3Server, AnExclusiveOneServesNobodyElseMeanwhile) {
  const auto test_queue = std::make_shared<control::TestQueue>(true);
  const peers::OwnServer server(0, own_server(test_queue));
  const Script client = welcomed(server);
  control::TestQueue::Turn other(*test_queue,
                                 {.demand = control::Weight::Light, .owner = "voyager"});
  const Result<> taken = other.take();
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().reason, HasSubstr("iperf3 by 127.0.0.1"));
}

TEST(Iperf3Server, CountsInWhatAllTestsMayTake) {
  const auto test_queue = std::make_shared<control::TestQueue>(
      false, control::Capacity{.threads = 4, .bytes = 64 << 20});
  const peers::OwnServer server(0, own_server(test_queue));
  for (const char* greedy :
       {R"({"tcp":true,"time":1,"parallel":5})", R"({"tcp":true,"time":1,"window":536870912})",
        R"({"udp":true,"time":1,"parallel":5,"len":1000})"}) {
    Script client = welcomed(server);
    const std::string refused = client.say(framed(greedy)).hear(9);
    EXPECT_EQ(refused, kError + std::string("\0\0\0\xc8\0\0\0\x0c", 8)) << greedy;
  }
  Script client = welcomed(server);
  EXPECT_EQ(client.say(framed(R"({"tcp":true,"time":1,"parallel":4})")).hear(1), kCreateStreams);
}

TEST(Iperf3Server, ServesTheNextWhenAClientVanishes) {
  const peers::OwnServer server(0, own_server());
  welcomed(server);
  for (int tries = 0; tries < 100; ++tries) {
    Script next = Script::to(server.at());
    if (next.say(kOtherCookie).hear(1) == kParamExchange) {
      return;
    }
  }
  FAIL() << "still busy with a client that has gone";
}

struct Refusing {
  const char* parameters;
  int error;  // i_errno
};

TEST(Iperf3Server, RefusesParametersWithTheReason) {
  const auto test_queue = std::make_shared<control::TestQueue>(false);
  const peers::OwnServer server(0, [test_queue](auto listeners, auto log, int stop) {
    return serve(std::move(listeners),
                 {.test_queue = *test_queue,
                  .limits = {.rate_bits_per_s = 1e9, .buffer_bytes = 1 << 20},
                  .log = log},
                 stop);
  });
  for (const auto& [parameters, error] :
       {Refusing{"{", 114}, Refusing{R"({"parallel":129})", 114}, Refusing{R"({"sctp":true})", 131},
        Refusing{R"({"tcp":true,"mptcp":true})", 131}, Refusing{R"({"time":86400})", 5},
        Refusing{R"({"parallel":128,"bidirectional":true})", 6},
        Refusing{R"({"window":2097152})", 8},
        Refusing{R"({"parallel":2,"bandwidth":600000000})", 27}}) {
    Script client = welcomed(server);
    const std::string said = client.say(framed(parameters)).hear(9);
    EXPECT_EQ(said.substr(0, 5), kError + std::string("\0\0\0", 3) + static_cast<char>(error))
        << parameters;
    EXPECT_TRUE(client.is_closed());
  }
}

// With Nagle's algorithm TEST_RUNNING would wait for the acknowledgement of TEST_START, which is
// delayed, while the data flows already.
TEST(Iperf3Server, StatesAreSentAtOnce) {
  const peers::OwnServer server(0, own_server());
  const Script client = welcomed(server);
  int found = 0;
  // The server's end of the connection is in this process.
  for (int fd = 0; fd < 1024; ++fd) {
    const Result<net::Endpoint> peer = net::peer_endpoint(fd);
    if (peer && peer->port == client.port()) {
      int no_delay = 0;
      socklen_t length = sizeof(no_delay);
      EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, &length), 0);
      EXPECT_NE(no_delay, 0);
      ++found;
    }
  }
  EXPECT_EQ(found, 1);
}

TEST(Iperf3Server, AParameterOf64KiBEndsTheTalk) {
  const peers::OwnServer server(0, own_server());
  Script client = welcomed(server);
  client.say(framed(std::string(65'536, ' ')));
  EXPECT_TRUE(client.is_closed());
}

TEST(Iperf3Server, AStreamWithAnotherCookieIsNoStream) {
  const peers::OwnServer server(0, own_server());
  Script client = welcomed(server);
  EXPECT_EQ(client.say(framed(R"({"tcp":true,"time":1})")).hear(1), kCreateStreams);
  EXPECT_EQ(Script::to(server.at()).say(kOtherCookie).hear(1), kDenied);
  Script stream = Script::to(server.at());
  stream.say(kCookie);
  EXPECT_EQ(client.hear(2), "\x01\x02") << "the right stream is awaited all the same";
}

TEST(Iperf3Server, AClientThatLeavesAmidTheDataLeavesTheServerWell) {
  const peers::OwnServer server(0, own_server());
  {
    Script client = welcomed(server);
    client.say(framed(R"({"tcp":true,"time":10,"reverse":true})")).hear(1);
    Script stream = Script::to(server.at());
    stream.say(kCookie);
    EXPECT_EQ(client.hear(2), "\x01\x02");
    EXPECT_EQ(stream.hear(1000).size(), 1000U);
  }
  for (int tries = 0; tries < 200; ++tries) {
    if (Script::to(server.at()).say(kOtherCookie).hear(1) == kParamExchange) {
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  FAIL() << "still busy with a client that has gone";
}

// What the client says of a server that plays this.
Error error_from(const std::function<void(Script&)>& play) {
  const peers::Listener listener;
  auto told = std::async(std::launch::async, [&] {
    return run_tcp({.peer = {"127.0.0.1", listener.at.port}}, {},
                   [](tcp::Side, const tcp::IntervalMeasure&) {});
  });
  {
    Script server = listener.accept();
    EXPECT_EQ(server.hear(kCookieBytes).size(), kCookieBytes);
    play(server);
  }
  const Result<TcpTest> got = told.get();
  EXPECT_FALSE(got);
  return got ? Error{} : got.error();
}

TEST(Iperf3Client, NamesAServerThatIsBusy) {
  const Error error = error_from([](Script& server) { server.say(kDenied); });
  EXPECT_EQ(error.kind, ErrorKind::Busy);
  EXPECT_THAT(error.reason, HasSubstr("busy"));
}

TEST(Iperf3Client, PassesTheServersErrorOn) {
  const Error error = error_from([](Script& server) {
    server.say(kParamExchange).hear(100);
    server.say(kError + std::string("\0\0\0\x86\0\0\0\x02", 8));
  });
  EXPECT_THAT(error.reason, HasSubstr("congestion control"));
}

TEST(Iperf3Client, NamesWhatIsNoIperf3Server) {
  EXPECT_THAT(
      error_from([](Script& server) { server.say("HTTP/1.1 400 Bad Request\r\n"); }).next_step,
      HasSubstr("'iperf3 -s'"));
  EXPECT_THAT(error_from([](Script&) {}).next_step, HasSubstr("'iperf3 -s'"));
}

TEST(Iperf3Client, AServerThatWantsAUserIsNamed) {
  const Error error = error_from([](Script& server) { server.say(kParamExchange).hear(100); });
  EXPECT_THAT(error.reason, HasSubstr("when it had the parameters"));
  EXPECT_THAT(error.next_step, HasSubstr("--authorized-users-path"));
}

// What a server's 'framed' message is.
std::string hear_framed(Script& from) {
  const std::string raw = from.hear(4);
  const auto length = decode_length(std::as_bytes(std::span(raw)).first<4>(), kMaxParameterBytes);
  return length ? from.hear(*length) : std::string();
}

// An iperf3 server counts until it hears of the end, which may be long after the data.
TEST(Iperf3Client, TheRateIsThatOfTheTimeInWhichDataArrived) {
  const peers::Listener listener;
  auto told = std::async(std::launch::async, [&] {
    return run_tcp({.peer = {"127.0.0.1", listener.at.port}}, {.bytes = 100'000},
                   [](tcp::Side, const tcp::IntervalMeasure&) {});
  });
  Script server = listener.accept();
  server.hear(kCookieBytes);
  server.say(kParamExchange);
  hear_framed(server);
  server.say(kCreateStreams);
  Script stream = listener.accept();
  server.say("\x01\x02");
  EXPECT_EQ(stream.hear(kCookieBytes + 100'000).size(), kCookieBytes + 100'000);
  EXPECT_EQ(server.hear(1), "\x04");
  server.say("\x0d");
  hear_framed(server);
  server.say(framed(R"({"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,)"
                    R"("sender_has_retransmits":-1,"streams":[{"id":1,"bytes":100000,)"
                    R"("retransmits":-1,"jitter":0,"errors":0,"omitted_errors":0,"packets":0,)"
                    R"("omitted_packets":0,"start_time":0,"end_time":500}]})"));
  EXPECT_EQ(server.say("\x0e").hear(1), "\x10");
  const Result<TcpTest> got = told.get();
  ASSERT_TRUE(got) << describe(got.error());
  ASSERT_EQ(got->test.server.streams.size(), 1U);
  EXPECT_EQ(got->test.server.streams[0].bytes, 100'000U);
  EXPECT_LT(got->test.server.streams[0].end_s, 100);
}

TEST(Iperf3Client, AStateOutOfTurnIsNamed) {
  EXPECT_THAT(error_from([](Script& server) { server.say("\x0d"); }).reason,
              HasSubstr("EXCHANGE_RESULTS"));
}

}  // namespace
}  // namespace chokepoint::probe::iperf3
