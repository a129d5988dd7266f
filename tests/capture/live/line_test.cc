#include "capture/live/line.h"

#include <gmock/gmock.h>

#include "base/cli/text.h"
#include "tests/capture/live/figures.h"

namespace chokepoint::capture::live {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kWide = 120;
constexpr std::size_t kNarrow = 80;

TEST(Line, TellsAllWhereThereIsRoom) {
  EXPECT_EQ(line_of(training(), kWide),
            "03:25 · step 182 ms (marks) · 351.2 samples/s · out 940 in 938 Mb/s · again 0.01 % · "
            "held by: receive window 61 %");
}

TEST(Line, LeavesOutTheLeastImportantAtEightyColumns) {
  EXPECT_EQ(line_of(training(), kNarrow),
            "step 182 ms (marks) · out 940 in 938 Mb/s · held by: receive window 61 %");
}

TEST(Line, IsNeverWiderThanAsked) {
  const Figures figures = training();
  for (std::size_t columns = 0; columns <= kWide; ++columns) {
    EXPECT_LE(cli::width_of(line_of(figures, columns)), columns);
  }
}

TEST(Line, BeginsWithStepsWhereThereIsHardlyRoom) {
  EXPECT_EQ(line_of(training(), 25), "step 182 ms (marks)");
}

TEST(Line, SaysThatNothingIsKnownYet) {
  EXPECT_EQ(line_of({}, kNarrow), "00:00 · no connection yet");
}

TEST(Line, SpeaksOfWhatWasNotSeen) {
  Figures figures = training();
  figures.packets_dropped = 12'000;
  figures.rows_dropped = 34;
  figures.steps.samples_per_s.reset();
  EXPECT_THAT(line_of(figures, kWide), HasSubstr(" · not seen 12,034 · "));
}

TEST(Line, TellsWhatTheGpusDoAndWhatSlowsThemDown) {
  constexpr std::size_t kVeryWide = 250;
  Figures figures = training();
  figures.counters.gpu_percent = 97.4;
  EXPECT_THAT(line_of(figures, kVeryWide), HasSubstr(" · GPU 97 % · "));
  figures.counters.slowed_gpus = {{"power-cap", 2}, {"sync-boost", 0}, {"thermal", 1}};
  EXPECT_THAT(line_of(figures, kVeryWide), HasSubstr(" · GPU 97 % (power-cap, thermal) · "));
}

TEST(Line, TellsSlowStepsInSecondsAndFastLinksInGigabits) {
  Figures figures = training();
  figures.steps.last_ms = 12'345;
  figures.sent_mbps = 94'100;
  figures.received_mbps = 9'380;
  EXPECT_THAT(line_of(figures, kWide), HasSubstr("step 12.3 s (marks)"));
  EXPECT_THAT(line_of(figures, kWide), HasSubstr("out 94.1 in 9.38 Gb/s"));
}

TEST(Line, DoesNotRoundALossAway) {
  Figures figures = training();
  figures.retransmitted_packets = 1;
  EXPECT_THAT(line_of(figures, kWide), HasSubstr("again <0.01 %"));
  figures.retransmitted_packets = 0;
  EXPECT_THAT(line_of(figures, kWide), HasSubstr("again 0 %"));
}

TEST(Limit, IsTheLargestShareOfTheSenders) {
  Figures figures = training();
  figures.sockets.shares = {.busy = 1, .receive_window = 0.1, .send_buffer = 0.5, .network = 0.4};
  EXPECT_EQ(limit_of(figures), "send buffer 50 %");
  figures.sockets.shares = {.busy = 1, .receive_window = 0, .send_buffer = 0, .network = 1};
  EXPECT_EQ(limit_of(figures), "network 100 %");
}

TEST(Limit, IsACoreThatHasNothingLeft) {
  Figures figures = training();
  figures.counters.softirq_percent = 93;
  EXPECT_EQ(limit_of(figures), "a core (softirq 93 %)");
}

TEST(Limit, IsAThreadOfTheLibraryButNotOneThatComputes) {
  Figures figures = training();
  figures.counters.busiest_thread = "gloo_tcp_loop";
  figures.counters.busiest_thread_percent = 98;
  EXPECT_EQ(limit_of(figures), "a thread (gloo_tcp_loop 98 %)");
  figures.counters.busiest_thread = "NCCL SockS 0 1";
  EXPECT_EQ(limit_of(figures), "a thread (NCCL SockS 0 1 98 %)");
  figures.counters.busiest_thread = "NCCL Progress 0";
  EXPECT_EQ(limit_of(figures), "receive window 61 %");
  figures.counters.busiest_thread = "python3";
  EXPECT_EQ(limit_of(figures), "receive window 61 %");
}

TEST(Limit, IsNotTheNetworkWhereNothingWaitsToBeSent) {
  Figures figures = training();
  figures.sockets.shares.busy = 0.03;
  EXPECT_EQ(limit_of(figures), "not the network");
}

TEST(Limit, IsUnknownToAHostThatOnlyReceives) {
  Figures figures = training();
  figures.sockets.shares.busy = 0.03;
  figures.sent_mbps = 9;
  EXPECT_EQ(limit_of(figures), "");
}

TEST(Limit, IsUnknownWithoutConnections) {
  EXPECT_EQ(limit_of({}), "");
  EXPECT_THAT(line_of({}, kWide), Not(HasSubstr("held by")));
}

}  // namespace
}  // namespace chokepoint::capture::live
