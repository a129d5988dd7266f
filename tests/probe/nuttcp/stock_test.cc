// Both roles against the nuttcp that is installed, over a loopback interface of the test's own.
#include <gtest/gtest.h>

#include <regex>

#include "probe/nuttcp/client.h"
#include "probe/nuttcp/protocol.h"
#include "tests/probe/nuttcp/own_server.h"
#include "tests/probe/peer/private_network.h"
#include "tests/probe/peer/stock_program.h"

namespace chokepoint::probe::nuttcp {
namespace {

using peers::StockProgram;

// One place of the matrix, with its name. `options`: what a stock client is told.
struct Kind {
  const char* name;
  bool udp;
  Sender sender;
  bool flipped;
  int streams;
};

class StockNuttcp : public testing::Test {
 protected:
  void SetUp() override {
    std::string reason = peers::missing("nuttcp");
    reason = reason.empty() ? peers::enter_private_network() : reason;
    if (!reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
};

class StockClient : public StockNuttcp, public testing::WithParamInterface<Kind> {};
class StockServer : public StockNuttcp, public testing::WithParamInterface<Kind> {};

std::string name_of_kind(const testing::TestParamInfo<Kind>& info) { return info.param.name; }

constexpr std::uint64_t kBlocks = 90;
constexpr std::uint64_t kBytes = kBlocks * 64 * 1024;
// So few that a socket's queue holds them all, however long a busy machine keeps the reader
// waiting.
constexpr std::uint64_t kDatagrams = 80;
constexpr int kDatagram = 1000;

std::vector<std::string> client_command(const Kind& kind) {
  std::vector<std::string> command{"nuttcp", "-fparse", "-N" + std::to_string(kind.streams)};
  if (kind.udp) {
    command.insert(command.end(), {"-u", "-l" + std::to_string(kDatagram), "-R2m",
                                   "-n" + std::to_string(kDatagrams)});
  } else {
    command.insert(command.end(), {"-R400m", "-n" + std::to_string(kBlocks)});
  }
  if (kind.sender == Sender::Server) {
    command.push_back("-r");
  }
  if (kind.flipped) {
    command.push_back("-F");
  }
  command.push_back("127.0.0.1");
  return command;
}

// The value behind "key=" in nuttcp's last line.
double value_in(const std::string& text, const std::string& key) {
  std::smatch found;
  std::string last;
  for (auto at = text.cbegin();
       std::regex_search(at, text.cend(), found, std::regex("\\b" + key + "=([0-9.]+)"));
       at = found.suffix().first) {
    last = found[1];
  }
  EXPECT_FALSE(last.empty()) << key << " is not in: " << text;
  return last.empty() ? -1 : std::stod(last);
}

TEST_P(StockClient, IsServed) {
  peers::OwnServer server(kControlPort, own_server());
  const std::string told = StockProgram(client_command(GetParam())).output();
  const double mebibytes = GetParam().udp ? kDatagrams * kDatagram / 1048576.0 : kBytes / 1048576.0;
  EXPECT_NEAR(value_in(told, "megabytes"), mebibytes, 0.0001) << told << server.log();
  if (GetParam().udp) {
    EXPECT_EQ(value_in(told, "drop"), 0) << told;
    EXPECT_EQ(value_in(told, "pkt"), kDatagrams) << told;
  }
  EXPECT_TRUE(told.find("rx_cpu=") != std::string::npos) << told;
}

ClientOptions to_stock() { return {.peer = {"127.0.0.1", kControlPort}}; }

void expect_tcp(const Kind& kind) {
  const tcp::Parameters asked{
      .direction = kind.sender == Sender::Client ? tcp::Direction::Send : tcp::Direction::Receive,
      .streams = kind.streams,
      .bytes = kBytes,
      .pace_bits_per_s = 400e6};
  const Result<TcpTest> got =
      run_tcp(to_stock(), asked, [](tcp::Side, const tcp::IntervalMeasure&) {});
  ASSERT_TRUE(got) << describe(got.error());
  EXPECT_EQ(got->version, (Version{6, 1, 2}));
  std::uint64_t own = 0;
  std::uint64_t theirs = 0;
  for (const tcp::StreamMeasure& stream : got->test.client.streams) {
    own += stream.bytes;
  }
  for (const tcp::StreamMeasure& stream : got->test.server.streams) {
    theirs += stream.bytes;
  }
  EXPECT_EQ(own, kBytes);
  EXPECT_EQ(own, theirs);
}

void expect_udp(const Kind& kind) {
  const Parameters asked{.sender = kind.sender,
                         .block_bytes = kDatagram,
                         .blocks = kDatagrams,
                         .time_s = 0,
                         .rate_kbits_per_s = 2'000};
  const Result<UdpTest> got = run_udp(to_stock(), asked);
  ASSERT_TRUE(got) << describe(got.error());
  EXPECT_EQ(got->measure.packets, kDatagrams);
  EXPECT_EQ(got->server.datagrams(kDatagram), kDatagrams);
}

TEST_P(StockServer, IsDriven) {
  const StockProgram server({"nuttcp", "-S", "--nofork"});
  peers::await_listener(kControlPort);
  GetParam().udp ? expect_udp(GetParam()) : expect_tcp(GetParam());
}

TEST_F(StockNuttcp, ClientIsToldOfIntervals) {
  peers::OwnServer server(kControlPort, own_server());
  const std::string told =
      StockProgram({"nuttcp", "-fparse", "-T1", "-i0.25", "-R400m", "127.0.0.1"}).output();
  std::size_t lines = 0;
  for (std::size_t at = told.find("real_sec="); at != std::string::npos;
       at = told.find("real_sec=", at + 1)) {
    ++lines;
  }
  EXPECT_GE(lines, 3U) << told << server.log();
  EXPECT_GT(value_in(told, "megabytes"), 20) << told;
}

constexpr Kind kKinds[] = {{"TcpForward", false, Sender::Client, false, 1},
                           {"TcpForwardThree", false, Sender::Client, false, 3},
                           {"TcpReverse", false, Sender::Server, false, 1},
                           {"TcpReverseThree", false, Sender::Server, false, 3},
                           {"UdpForward", true, Sender::Client, false, 1},
                           {"UdpReverse", true, Sender::Server, false, 1}};
// A client may turn round who connects; this program's always does.
constexpr Kind kFlipped[] = {{"TcpForwardFlipped", false, Sender::Client, true, 1},
                             {"TcpReverseFlipped", false, Sender::Server, true, 3}};

INSTANTIATE_TEST_SUITE_P(Matrix, StockClient, testing::ValuesIn(kKinds), name_of_kind);
INSTANTIATE_TEST_SUITE_P(Flipped, StockClient, testing::ValuesIn(kFlipped), name_of_kind);
INSTANTIATE_TEST_SUITE_P(Matrix, StockServer, testing::ValuesIn(kKinds), name_of_kind);

}  // namespace
}  // namespace chokepoint::probe::nuttcp
