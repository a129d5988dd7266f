// Both sides of the handshake against peers that do not behave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>

#include "base/control/session.h"
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

using SharedTurnstile = std::shared_ptr<control::Turnstile>;

peers::OwnServer::Serve own_server(
    const SharedTurnstile& turnstile = std::make_shared<control::Turnstile>(false)) {
  return [turnstile](auto listeners, auto log, int stop) {
    return serve(std::move(listeners), {.turnstile = *turnstile, .log = log}, stop);
  };
}

// A test of another kind that fills the path.
control::Turnstile::Test another() {
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
    const auto turnstile = std::make_shared<control::Turnstile>(exclusive);
    std::optional<control::Turnstile::Turn> other;
    other.emplace(*turnstile, another());
    ASSERT_TRUE(other->take());
    const peers::OwnServer server(0, own_server(turnstile));
    Script client = Script::to(server.at());
    EXPECT_EQ(client.say(kCookie).hear(1), kDenied);
    EXPECT_TRUE(client.is_closed());
    other.reset();
    welcomed(server);
  }
}

TEST(Iperf3Server, AnExclusiveOneServesNobodyElseMeanwhile) {
  const auto turnstile = std::make_shared<control::Turnstile>(true);
  const peers::OwnServer server(0, own_server(turnstile));
  const Script client = welcomed(server);
  control::Turnstile::Turn other(*turnstile,
                                 {.demand = control::Weight::Light, .owner = "voyager"});
  const Result<> taken = other.take();
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().reason, HasSubstr("iperf3 by 127.0.0.1"));
}

TEST(Iperf3Server, CountsInWhatAllTestsMayTake) {
  const auto turnstile = std::make_shared<control::Turnstile>(
      false, control::Capacity{.threads = 4, .bytes = 64 << 20});
  const peers::OwnServer server(0, own_server(turnstile));
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

TEST(Iperf3Server, RefusesParametersWithTheReason) {
  const peers::OwnServer server(0, own_server());
  for (const char* hostile :
       {"{", R"({"parallel":129})", R"({"sctp":true})", R"({"time":86400})"}) {
    Script client = welcomed(server);
    EXPECT_EQ(client.say(framed(hostile)).hear(9).substr(0, 1), kError) << hostile;
    EXPECT_TRUE(client.is_closed());
  }
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

TEST(Iperf3Client, AStateOutOfTurnIsNamed) {
  EXPECT_THAT(error_from([](Script& server) { server.say("\x0d"); }).reason,
              HasSubstr("EXCHANGE_RESULTS"));
}

}  // namespace
}  // namespace chokepoint::probe::iperf3
