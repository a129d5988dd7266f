// Both roles against the iperf3 that is installed, over a loopback interface of the test's own.
#include <gtest/gtest.h>

#include "probe/iperf3/client.h"
#include "probe/iperf3/protocol.h"
#include "probe/iperf3/server.h"
#include "tests/probe/peer/own_server.h"
#include "tests/probe/peer/private_network.h"
#include "tests/probe/peer/stock_program.h"

namespace chokepoint::probe::iperf3 {
namespace {

using peers::StockProgram;
using std::chrono::seconds;

// One place of the matrix, with its name.
struct Kind {
  const char* name;
  bool udp;
  Direction direction;
  int streams;
  bool by_amount = true;  // or by time: a second, the shortest that iperf3 knows
};

class StockIperf3Alone : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason = peers::missing("iperf3");
    reason = reason.empty() ? peers::enter_private_network() : reason;
    if (!reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
};

class StockIperf3 : public StockIperf3Alone, public testing::WithParamInterface<Kind> {};

std::string name_of_kind(const testing::TestParamInfo<Kind>& info) { return info.param.name; }

constexpr std::uint64_t kBytes = 6'000'000;
// So few that a socket's queue holds them all, however long a busy machine keeps the reader
// waiting.
constexpr std::uint64_t kDatagrams = 80;

std::vector<std::string> client_command(const Kind& kind) {
  const bool udp = kind.udp;
  std::vector<std::string> command{
      "iperf3",           "-c", "127.0.0.1", "-J", "-P", std::to_string(kind.streams), "-b",
      udp ? "2M" : "400M"};
  if (udp) {
    command.insert(command.end(), {"-u", "-l", "1400"});
  }
  if (!kind.by_amount) {
    command.insert(command.end(), {"-t", "1"});
  } else if (udp) {
    command.insert(command.end(), {"-k", std::to_string(kDatagrams)});
  } else {
    command.insert(command.end(), {"-n", std::to_string(kBytes)});
  }
  if (kind.direction != Direction::Send) {
    command.push_back(kind.direction == Direction::Receive ? "-R" : "--bidir");
  }
  return command;
}

std::uint64_t sum_of(const nlohmann::json& end, const char* name) {
  return end.at(name).at("bytes").get<std::uint64_t>();
}

// A client that goes both ways is done when either is.
std::uint64_t least(std::uint64_t amount, Direction direction) {
  return direction == Direction::Both ? amount / 2 : amount;
}

TEST_P(StockIperf3, ClientIsServed) {
  control::TestQueue test_queue(false);
  peers::OwnServer server(kDefaultPort, [&test_queue](auto listeners, auto log, int stop) {
    return serve(std::move(listeners), {.test_queue = test_queue, .log = log}, stop);
  });
  const nlohmann::json told = StockProgram(client_command(GetParam())).json();
  ASSERT_TRUE(told.is_object()) << told;
  ASSERT_FALSE(told.contains("error")) << told["error"] << server.log();
  const nlohmann::json& end = told.at("end");
  if (GetParam().udp) {
    const nlohmann::json& sum = end.at("sum");
    EXPECT_GE(sum.at("packets").get<std::uint64_t>(), least(kDatagrams, GetParam().direction))
        << sum;
    // A server sends on until it hears that it is enough, which may be more than a queue holds.
    if (GetParam().direction == Direction::Send) {
      EXPECT_EQ(sum.at("lost_packets").get<std::int64_t>(), 0) << sum;
    }
    return;
  }
  EXPECT_GE(sum_of(end, "sum_received"), least(kBytes, GetParam().direction));
  if (GetParam().direction == Direction::Send) {
    EXPECT_EQ(sum_of(end, "sum_sent"), sum_of(end, "sum_received"));
  }
  EXPECT_EQ(end.at("streams").size(),
            static_cast<std::size_t>(GetParam().streams *
                                     (GetParam().direction == Direction::Both ? 2 : 1)));
}

ClientOptions to_stock() { return {.peer = {"127.0.0.1", kDefaultPort}}; }

void expect_tcp(const Kind& kind) {
  const tcp::Parameters asked{.direction = kind.direction,
                              .streams = kind.streams,
                              .time = seconds(1),
                              .bytes = kind.by_amount ? std::optional(kBytes) : std::nullopt,
                              .pace_bits_per_s = 400e6 * kind.streams};
  const Result<TcpTest> got =
      run_tcp(to_stock(), asked, [](tcp::Side, const tcp::IntervalMeasure&) {});
  ASSERT_TRUE(got) << describe(got.error());
  const std::vector<tcp::StreamMeasure>& own = got->test.client.streams;
  const std::vector<tcp::StreamMeasure>& theirs = got->test.server.streams;
  ASSERT_EQ(own.size(), theirs.size());
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_NE(own[i].role, theirs[i].role);
    EXPECT_GT(own[i].bytes, 100'000U);
    EXPECT_EQ(own[i].bytes, theirs[i].bytes) << "stream " << i;
    EXPECT_EQ(own[i].error, "");
  }
}

void expect_udp(const Kind& kind) {
  const Parameters asked{.udp = true,
                         .direction = kind.direction,
                         .time_s = kind.by_amount ? 0 : 1,
                         .blocks = kind.by_amount ? kDatagrams : 0,
                         .streams = kind.streams,
                         .block_bytes = 1400,
                         .rate_bits_per_s = 2'000'000};
  const Result<UdpTest> got = run_udp(to_stock(), asked);
  ASSERT_TRUE(got) << describe(got.error());
  ASSERT_EQ(got->measures.size(), got->server.streams.size());
  for (const peer::DatagramMeasure& own : got->measures) {
    const StreamResult* theirs = got->server.find(stream_id(own.index));
    ASSERT_NE(theirs, nullptr);
    EXPECT_GE(own.packets, kDatagrams / static_cast<std::uint64_t>(kind.streams));
    if (kind.by_amount || own.role == peer::Role::Receive) {
      EXPECT_EQ(static_cast<std::int64_t>(own.packets), theirs->packets) << "stream " << own.index;
    }
  }
}

TEST_P(StockIperf3, ServerIsDriven) {
  const StockProgram server({"iperf3", "-s", "-1"});
  peers::await_listener(kDefaultPort);
  GetParam().udp ? expect_udp(GetParam()) : expect_tcp(GetParam());
}

// iperf3 has its own idea of what was omitted, and shows what is left.
TEST_F(StockIperf3Alone, AnOmittedStartIsSubtractedOnce) {
  control::TestQueue test_queue(false);
  peers::OwnServer server(kDefaultPort, [&test_queue](auto listeners, auto log, int stop) {
    return serve(std::move(listeners), {.test_queue = test_queue, .log = log}, stop);
  });
  for (const bool reverse : {false, true}) {
    std::vector<std::string> command{"iperf3", "-c",   "127.0.0.1", "-J", "-u", "-b", "2M",
                                     "-l",     "1000", "-O",        "1",  "-t", "1"};
    if (reverse) {
      command.emplace_back("-R");
    }
    const nlohmann::json told = StockProgram(command).json();
    ASSERT_FALSE(told.contains("error")) << told["error"] << server.log();
    for (const char* name : {"sum", "sum_sent", "sum_received"}) {
      if (const auto sum = told.at("end").find(name); sum != told.at("end").end()) {
        const auto packets = sum->at("packets").get<double>();
        EXPECT_NEAR(packets, sum->at("bytes").get<double>() / 1000, 0.2 * packets) << name << *sum;
        EXPECT_GT(packets, 0) << name << *sum;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Matrix, StockIperf3,
                         testing::Values(Kind{"TcpForward", false, Direction::Send, 1, false},
                                         Kind{"TcpForwardThree", false, Direction::Send, 3},
                                         Kind{"TcpReverse", false, Direction::Receive, 1},
                                         Kind{"TcpReverseThree", false, Direction::Receive, 3},
                                         Kind{"TcpBoth", false, Direction::Both, 1},
                                         Kind{"UdpForward", true, Direction::Send, 1},
                                         Kind{"UdpForwardThree", true, Direction::Send, 3},
                                         Kind{"UdpReverse", true, Direction::Receive, 1, false},
                                         Kind{"UdpReverseThree", true, Direction::Receive, 3},
                                         Kind{"UdpBoth", true, Direction::Both, 1}),
                         name_of_kind);

}  // namespace
}  // namespace chokepoint::probe::iperf3
