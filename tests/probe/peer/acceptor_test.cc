#include "probe/peer/acceptor.h"

#include <gtest/gtest.h>

#include <chrono>

#include "tests/probe/peer/own_server.h"
#include "tests/probe/peer/script.h"

namespace chokepoint::probe::peer {
namespace {

using peers::Script;

// Four bytes are enough here.
std::size_t wants_four(const std::string& received) {
  return received.size() < 4 ? 4 - received.size() : 0;
}

// A acceptor that answers each connection's four bytes with themselves.
peers::OwnServer::Serve echoing(std::size_t most, std::chrono::milliseconds time_limit) {
  return [=](auto listeners, auto, int stop) {
    Acceptor acceptor(std::move(listeners),
                      {.wants = wants_four,
                       .on_ready =
                           [](PendingConnection connection) {
                             Script(std::move(connection.fd)).say(connection.received);
                           },
                       .max_pending = most,
                       .time_limit = time_limit});
    return acceptor.run(stop);
  };
}

constexpr std::chrono::milliseconds kLong{60'000};

TEST(Acceptor, HandsOnWhoHasSaidEnough) {
  const peers::OwnServer server(0, echoing(8, kLong));
  Script connection = Script::to(server.at());
  connection.say("ab").say("cd");
  EXPECT_EQ(connection.hear(4), "abcd");
}

TEST(Acceptor, WhoSaysNothingKeepsNobodyWaiting) {
  const peers::OwnServer server(0, echoing(64, kLong));
  std::vector<Script> silent;
  for (int i = 0; i < 40; ++i) {
    silent.push_back(Script::to(server.at()));
  }
  silent[3].say("x");
  EXPECT_EQ(Script::to(server.at()).say("abcd").hear(4), "abcd");
}

TEST(Acceptor, TheOldestGoesWhereItIsFull) {
  const peers::OwnServer server(0, echoing(2, kLong));
  Script first = Script::to(server.at());
  const Script second = Script::to(server.at());
  const Script third = Script::to(server.at());
  EXPECT_TRUE(first.is_closed());
}

TEST(Acceptor, PatienceEnds) {
  const peers::OwnServer server(0, echoing(8, std::chrono::milliseconds(1)));
  Script connection = Script::to(server.at());
  EXPECT_TRUE(connection.is_closed());
}

TEST(Acceptor, OpennessNeedsAWord) {
  const net::Endpoint everywhere{*net::Address::parse("0.0.0.0"), 5201};
  const net::Endpoint loopback{*net::Address::parse("::1"), 5201};
  EXPECT_TRUE(check_openness(loopback, false, "--iperf3"));
  EXPECT_TRUE(check_openness(everywhere, true, "--iperf3"));
  const Result<> refused = check_openness(everywhere, false, "--iperf3");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Usage);
  EXPECT_NE(refused.error().next_step.find("--insecure-open"), std::string::npos);
}

TEST(ConnectionQueue, IsLeftInTheOrderOfComing) {
  const auto queue = ConnectionQueue::make(2);
  ASSERT_TRUE(queue);
  for (const char* name : {"first", "second", "third"}) {
    PendingConnection connection{.fd = {}, .from = {}, .received = name, .deadline = {}};
    EXPECT_EQ((*queue)->push(connection), std::string(name) != "third");
  }
  const net::Deadline deadline = net::Deadline::of(std::chrono::seconds(10));
  EXPECT_EQ((*queue)->next(deadline)->received, "first");
  EXPECT_EQ((*queue)->next(deadline)->received, "second");
  EXPECT_EQ((*queue)->next(net::Deadline::of({})).error().kind, ErrorKind::Timeout);
}

}  // namespace
}  // namespace chokepoint::probe::peer
