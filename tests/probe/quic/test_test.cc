// Whole tests against a server in this process: the kernel's sockets, both ends' code.
#include "probe/quic/test.h"

#include <gmock/gmock.h>
#include <sys/eventfd.h>

#include "probe/quic/connection.h"
#include "probe/quic/outcome.h"
#include "tests/fakes/probe_server.h"

namespace chokepoint::probe::quic {
namespace {

using namespace std::chrono_literals;
using control::Client;
using testing::HasSubstr;

control::Services services() {
  control::Services all;
  all.push_back(quic_service());
  return all;
}

class QuicTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_quic()) {
      GTEST_SKIP() << "this build has no QUIC library";
    }
  }

  static Result<Trial> run(
      Client& client, const Parameters& parameters,
      const Watcher& watcher = [](Side, const IntervalMeasure&) {}, int interrupt = -1) {
    return quic::run(client, parameters, {.root = sys::Root("/"), .interrupt = interrupt}, watcher,
                     [](const std::string&) {});
  }
};

TEST_F(QuicTest, EachDirectionArrivesWhole) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  for (const Direction direction : {Direction::Send, Direction::Receive, Direction::Both}) {
    const Result<Trial> trial = run(*client, {.direction = direction,
                                              .streams = 3,
                                              .time = 1s,
                                              .interval = 50ms,
                                              .pace_bits_per_s = 50e6});
    ASSERT_TRUE(trial) << describe(trial.error());
    EXPECT_FALSE(trial->interrupted);
    EXPECT_TRUE(trial->times.early_data_accepted);
    for (const Direction way : {Direction::Send, Direction::Receive}) {
      const documents::QuicFigures figures = outcome_of(*trial, way).figures;
      if (direction != way && direction != Direction::Both) {
        EXPECT_EQ(figures.bytes, 0U);
        continue;
      }
      EXPECT_GT(figures.bytes, 0U);
      EXPECT_EQ(figures.bytes, figures.sent_bytes);
      EXPECT_EQ(figures.per_stream.size(), 3U);
      EXPECT_FALSE(figures.intervals.empty());
      EXPECT_GE(figures.packet_bytes, 1200U);
    }
  }
}

// The client's Stop may arrive before the server has seen that all streams are whole.
TEST_F(QuicTest, TheIntervalsHaveAllBytesThoughTheTestEndsWithinOne) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  for (int i = 0; i < 10; ++i) {
    const Result<Trial> trial = run(*client, {.time = 50ms, .interval = 10s});
    ASSERT_TRUE(trial) << describe(trial.error());
    const documents::QuicFigures figures = outcome_of(*trial, Direction::Send).figures;
    ASSERT_EQ(figures.intervals.size(), 1U);
    EXPECT_EQ(figures.intervals.front().bytes, figures.bytes);
  }
}

TEST_F(QuicTest, AnInterruptedTestIsWhatWasMeasuredUntilThen) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  const sys::Descriptor interrupt(eventfd(0, EFD_CLOEXEC));
  const Result<Trial> trial = run(
      *client, {.time = 60s, .interval = 20ms, .pace_bits_per_s = 50e6},
      [&](Side, const IntervalMeasure& interval) {
        const std::uint64_t one = interval.received_bytes > 0 ? 1 : 0;
        std::ignore = write(interrupt.get(), &one, sizeof(one));
      },
      interrupt.get());
  ASSERT_TRUE(trial) << describe(trial.error());
  EXPECT_TRUE(trial->interrupted);
  EXPECT_GT(outcome_of(*trial, Direction::Send).figures.bytes, 0U);
  EXPECT_TRUE(run(*client, {.time = 50ms, .interval = 10ms})) << "and the next test may come";
}

TEST_F(QuicTest, AServerThatStopsSaysSo) {
  fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  const Result<Trial> trial = run(*client, {.time = 60s, .interval = 20ms, .pace_bits_per_s = 50e6},
                                  [&](Side, const IntervalMeasure&) { server.stop(); });
  ASSERT_FALSE(trial);
  EXPECT_THAT(describe(trial.error()), HasSubstr("the server stops"));
}

TEST_F(QuicTest, MoreThanIsGrantedIsRefused) {
  const fakes::ProbeServer server(services(), {}, {.longest_test = 10s, .streams = 4});
  Result<Client> client = server.client();
  EXPECT_FALSE(run(*client, {.streams = 5}));
  EXPECT_FALSE(run(*client, {.time = 11s}));
}

TEST_F(QuicTest, AServerWithoutItSaysSo) {
  const fakes::ProbeServer server({});
  Result<Client> client = server.client();
  const Result<Trial> trial = run(*client, {});
  ASSERT_FALSE(trial);
  EXPECT_THAT(describe(trial.error()), HasSubstr("does not offer it"));
}

}  // namespace
}  // namespace chokepoint::probe::quic
