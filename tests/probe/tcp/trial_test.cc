#include "probe/tcp/trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <numeric>

#include "probe/tcp/outcome.h"
#include "tests/fakes/probe_server.h"

namespace chokepoint::probe::tcp {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr std::uint64_t kBytes = 10'000'019;  // divides by nothing

class TcpTest : public testing::Test {
 protected:
  static control::Services services() {
    control::Services services;
    services.push_back(tcp_service());
    return services;
  }

  Result<Trial> run(const Parameters& parameters, int interrupt = -1) {
    Result<control::Client> client = server_.client();
    if (!client) {
      return std::unexpected(client.error());
    }
    return tcp::run(
        *client, parameters, sys::Root("/"), interrupt,
        [&](Side side, const IntervalMeasure&) { ++intervals_[side]; }, [](const std::string&) {});
  }

  fakes::ProbeServer server_{services()};
  std::map<Side, int> intervals_;
};

Parameters some_bytes(Direction direction, int streams = 1) {
  return {.direction = direction, .streams = streams, .bytes = kBytes};
}

TEST_F(TcpTest, BothEndsCountTheSameBytesEachWay) {
  for (const Direction direction : {Direction::Send, Direction::Receive}) {
    const Result<Trial> trial = run(some_bytes(direction));
    ASSERT_TRUE(trial) << describe(trial.error());
    const documents::TcpFigures figures = outcome_of(*trial, direction).figures;
    EXPECT_EQ(figures.sent_bytes, kBytes);
    EXPECT_EQ(figures.received_bytes, kBytes);
    EXPECT_EQ(figures.bytes, kBytes);
    EXPECT_GT(figures.throughput_mbps, 0);
    EXPECT_GE(figures.peak_mbps, figures.throughput_mbps);
    EXPECT_GT(figures.mss_bytes.value_or(0), 0);
    EXPECT_FALSE(figures.congestion_control.empty());
  }
}

TEST_F(TcpTest, BytesAreDealtToTheStreamsToTheLast) {
  const Result<Trial> trial = run(some_bytes(Direction::Send, 3));
  ASSERT_TRUE(trial) << describe(trial.error());
  const documents::TcpFigures figures = outcome_of(*trial, Direction::Send).figures;
  ASSERT_EQ(figures.per_stream.size(), 3U);
  EXPECT_EQ(figures.per_stream[0].bytes, kBytes / 3 + 1);
  EXPECT_EQ(figures.received_bytes, kBytes);
}

TEST_F(TcpTest, BothWaysAtOnceAreTwoOutcomes) {
  const Result<Trial> trial = run(some_bytes(Direction::Both, 2));
  ASSERT_TRUE(trial) << describe(trial.error());
  EXPECT_EQ(outcome_of(*trial, Direction::Send).figures.received_bytes, kBytes);
  EXPECT_EQ(outcome_of(*trial, Direction::Receive).figures.received_bytes, kBytes);
}

TEST_F(TcpTest, WithAndWithoutCopyingTheBytesAreTheSame) {
  Parameters parameters = some_bytes(Direction::Receive);
  parameters.zero_copy = false;
  const Result<Trial> trial = run(parameters);
  ASSERT_TRUE(trial) << describe(trial.error());
  EXPECT_EQ(outcome_of(*trial, Direction::Receive).figures.received_bytes, kBytes);
}

TEST_F(TcpTest, IntervalsSumUpToTheWhole) {
  const Result<Trial> trial = run({.time = milliseconds(300), .interval = milliseconds(50)});
  ASSERT_TRUE(trial) << describe(trial.error());
  const documents::TcpFigures figures = outcome_of(*trial, Direction::Send).figures;
  EXPECT_GE(figures.intervals.size(), 2U);
  const std::uint64_t sum =
      std::accumulate(figures.intervals.begin(), figures.intervals.end(), std::uint64_t{0},
                      [](std::uint64_t total, const Interval& each) { return total + each.bytes; });
  EXPECT_EQ(sum, figures.received_bytes);
  EXPECT_GT(intervals_[Side::Client], 0);
  EXPECT_GT(intervals_[Side::Server], 0) << "told while it went on";
}

TEST_F(TcpTest, WhatIsOmittedIsMovedButNotMeasured) {
  const Result<Trial> trial = run({.time = milliseconds(200), .omit = milliseconds(200)});
  ASSERT_TRUE(trial) << describe(trial.error());
  const documents::TcpFigures figures = outcome_of(*trial, Direction::Send).figures;
  EXPECT_LT(figures.bytes, figures.received_bytes);
  EXPECT_EQ(figures.sent_bytes, figures.received_bytes);
}

TEST_F(TcpTest, ThePaceIsKept) {
  const Parameters parameters{.streams = 2, .time = milliseconds(500), .pace_bits_per_s = 40e6};
  const Result<Trial> trial = run(parameters);
  ASSERT_TRUE(trial) << describe(trial.error());
  const documents::TcpFigures figures = outcome_of(*trial, Direction::Send).figures;
  EXPECT_LT(figures.throughput_mbps, 60);
  EXPECT_TRUE(figures.pacing) << "loopback has fq or TCP's own timer";
}

TEST_F(TcpTest, WithoutAPaceNothingPaces) {
  const Result<Trial> trial = run(some_bytes(Direction::Receive));
  ASSERT_TRUE(trial) << describe(trial.error());
  EXPECT_FALSE(outcome_of(*trial, Direction::Receive).figures.pacing);
}

TEST_F(TcpTest, AnInterruptedTestTellsWhatItHas) {
  const sys::Descriptor interrupt(eventfd(0, EFD_CLOEXEC));
  std::thread user([&] {
    std::this_thread::sleep_for(milliseconds(300));
    const std::uint64_t one = 1;
    EXPECT_EQ(write(interrupt.get(), &one, sizeof(one)), ssize_t{sizeof(one)});
  });
  const Result<Trial> trial =
      run({.time = std::chrono::seconds(60), .pace_bits_per_s = 50e6}, interrupt.get());
  user.join();
  ASSERT_TRUE(trial) << describe(trial.error());
  EXPECT_TRUE(trial->interrupted);
  const documents::TcpFigures figures = outcome_of(*trial, Direction::Send).figures;
  EXPECT_GT(figures.received_bytes, 0U);
  EXPECT_EQ(figures.sent_bytes, figures.received_bytes);
}

TEST_F(TcpTest, ALongerTestThanGrantedIsRefusedByName) {
  const Result<Trial> trial = run({.time = std::chrono::hours(2)});
  ASSERT_FALSE(trial);
  EXPECT_THAT(describe(trial.error()), HasSubstr("--time 2.00 h"));
}

TEST_F(TcpTest, AServerThatStopsIsAnErrorAndNoHang) {
  Result<control::Client> client = server_.client();
  ASSERT_TRUE(client);
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(100));
    server_.stop();
  });
  const Result<Trial> trial = tcp::run(
      *client, {.time = std::chrono::seconds(60)}, sys::Root("/"), -1,
      [](Side, const IntervalMeasure&) {}, [](const std::string&) {});
  stopper.join();
  EXPECT_FALSE(trial);
}

}  // namespace
}  // namespace chokepoint::probe::tcp
