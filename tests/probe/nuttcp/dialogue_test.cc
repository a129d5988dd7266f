// Both sides of the handshake against peers that do not behave.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>

#include "base/control/test_queue.h"
#include "probe/nuttcp/client.h"
#include "tests/probe/nuttcp/own_server.h"
#include "tests/probe/peer/script.h"

namespace chokepoint::probe::nuttcp {
namespace {

using peers::Script;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kHello = "HELO nuttcp v6.1.2\n";

// A client that has got as far as the parameters.
Script welcomed(const peers::OwnServer& server) {
  Script client = Script::to(server.at());
  EXPECT_EQ(client.say(kHello).hear(kHello.size()), kHello);
  return client;
}

TEST(NuttcpServer, SaysKoWithTheReason) {
  const peers::OwnServer server(0, own_server());
  Script client = welcomed(server);
  Parameters asked;
  asked.time_s = 86'000;
  EXPECT_THAT(client.say(encode(asked)).hear(200), StartsWith("KO\n"));
  client = welcomed(server);
  EXPECT_THAT(client.say("buflen = many\n").hear(200), HasSubstr("\nKO\n"));
}

// A test of another kind that fills the path.
control::TestQueue::Test another() {
  return {.demand = control::Weight::Heavy, .who = "tcp by 10.0.0.2", .owner = "voyager"};
}

TEST(NuttcpServer, AClientWaitsForATestOfAnotherKind) {
  const auto test_queue = std::make_shared<control::TestQueue>(false);
  std::optional<control::TestQueue::Turn> other;
  other.emplace(*test_queue, another());
  ASSERT_TRUE(other->take());
  const peers::OwnServer server(0, own_server(test_queue));
  Script client = Script::to(server.at());
  client.say(kHello);
  Script gone = Script::to(server.at());
  gone.say(kHello);
  other.reset();
  EXPECT_EQ(client.hear(kHello.size()), kHello);
}

TEST(NuttcpServer, AnExclusiveOneRefusesWhileAnotherTestRuns) {
  const auto test_queue = std::make_shared<control::TestQueue>(true);
  control::TestQueue::Turn other(*test_queue, another());
  ASSERT_TRUE(other.take());
  const peers::OwnServer server(0, own_server(test_queue));
  Script client = welcomed(server);
  EXPECT_EQ(client.say(encode(Parameters{})).hear(200),
            "KO\nanother test is running: tcp by 10.0.0.2\nKO\n");
}

TEST(NuttcpServer, AnExclusiveOneServesNobodyElseMeanwhile) {
  const auto test_queue = std::make_shared<control::TestQueue>(true);
  const peers::OwnServer server(0, own_server(test_queue));
  const Script client = welcomed(server);
  control::TestQueue::Turn other(*test_queue,
                                 {.demand = control::Weight::Light, .owner = "voyager"});
  const Result<> taken = other.take();
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().reason, HasSubstr("nuttcp by 127.0.0.1"));
}

TEST(NuttcpServer, CountsInWhatAllTestsMayTake) {
  const auto test_queue = std::make_shared<control::TestQueue>(
      false, control::Capacity{.threads = 2, .bytes = 6 << 20});
  const peers::OwnServer server(0, own_server(test_queue));
  Parameters asked;
  asked.streams = 2;
  EXPECT_THAT(welcomed(server).say(encode(asked)).hear(200), HasSubstr("of memory"))
      << "it receives into 4 MiB a stream";
  asked.streams = 3;
  EXPECT_THAT(welcomed(server).say(encode(asked)).hear(200),
              HasSubstr("3 threads, and this server grants 2"));
  asked.streams = 1;
  asked.window_bytes = 512 << 20;
  EXPECT_THAT(welcomed(server).say(encode(asked)).hear(200), HasSubstr("of memory"));
}

TEST(NuttcpServer, ALineWithoutAnEndEndsTheTalk) {
  const peers::OwnServer server(0, own_server());
  Script client = welcomed(server);
  client.say(std::string(65'536, 'a'));
  EXPECT_TRUE(client.is_closed());
  welcomed(server);
}

TEST(NuttcpServer, WhoIsNotNuttcpIsNotAnswered) {
  const peers::OwnServer server(0, own_server());
  Script client = Script::to(server.at());
  EXPECT_EQ(client.say("GET / HTTP/1.1\r\n\r\n").hear(1), "");
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
    EXPECT_EQ(server.hear(kHello.size()), kHello);
    play(server);
  }
  const Result<TcpTest> got = told.get();
  EXPECT_FALSE(got);
  return got ? Error{} : got.error();
}

TEST(NuttcpClient, PassesARefusalOn) {
  const Error error = error_from([](Script& server) {
    server.say(kHello).hear(40);
    server.say("KO\nonly on Sundays\nKO\n");
  });
  EXPECT_EQ(error.kind, ErrorKind::Refused);
  EXPECT_EQ(error.reason, "only on Sundays");
}

TEST(NuttcpClient, NamesWhatIsNoNuttcpServer) {
  EXPECT_THAT(error_from([](Script& server) { server.say("SSH-2.0-OpenSSH\r\n"); }).next_step,
              HasSubstr("'nuttcp -S'"));
  EXPECT_THAT(error_from([](Script&) {}).next_step, HasSubstr("'nuttcp -S'"));
}

TEST(NuttcpClient, AClosedDataPortIsNamed) {
  const Error error = error_from([](Script& server) {
    server.say(kHello).hear(300);
    server.say("OK v6.1.2\n").hear(1);
  });
  EXPECT_THAT(error.subject, HasSubstr("data port"));
  EXPECT_THAT(error.next_step, HasSubstr("firewall"));
}

}  // namespace
}  // namespace chokepoint::probe::nuttcp
