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
            "03:25 · step 182 ms (marks) · 351.2 samples/s · out 940 in 938 Mb/s · resent 0.01 % · "
            "TCP waits for: receive window 61 %");
}

TEST(Line, LeavesOutTheLeastImportantAtEightyColumns) {
  EXPECT_EQ(line_of(training(), kNarrow),
            "step 182 ms (marks) · out 940 in 938 Mb/s · TCP waits for: receive window 61 %");
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
  EXPECT_THAT(line_of(figures, kWide), HasSubstr("resent <0.01 %"));
  figures.retransmitted_packets = 0;
  EXPECT_THAT(line_of(figures, kWide), HasSubstr("resent 0 %"));
}

TEST(Limit, IsTheLargestShareOfTheSenders) {
  Figures figures = training();
  figures.sockets.shares = {.busy = 1, .receive_window = 0.1, .send_buffer = 0.5, .network = 0.4};
  EXPECT_EQ(limit_of(figures), "TCP waits for: send buffer 50 %");
  figures.sockets.shares = {.busy = 1, .receive_window = 0, .send_buffer = 0, .network = 1};
  EXPECT_EQ(limit_of(figures), "TCP waits for: network 100 %");
}

TEST(Limit, IsACoreThatHasNothingLeft) {
  Figures figures = training();
  figures.counters.softirq_percent = 93;
  EXPECT_EQ(limit_of(figures), "limited by: a core (softirq 93 %)");
}

TEST(Limit, IsAThreadOfTheLibraryButNotOneThatComputes) {
  Figures figures = training();
  figures.counters.busiest_thread = "gloo_tcp_loop";
  figures.counters.busiest_thread_percent = 98;
  EXPECT_EQ(limit_of(figures), "limited by: a thread (gloo_tcp_loop 98 %)");
  figures.counters.busiest_thread = "NCCL SockS 0 1";
  EXPECT_EQ(limit_of(figures), "limited by: a thread (NCCL SockS 0 1 98 %)");
  figures.counters.busiest_thread = "NCCL Progress 0";
  EXPECT_EQ(limit_of(figures), "TCP waits for: receive window 61 %");
  figures.counters.busiest_thread = "python3";
  EXPECT_EQ(limit_of(figures), "TCP waits for: receive window 61 %");
}

TEST(Limit, IsNotTheNetworkWhereNothingWaitsToBeSent) {
  Figures figures = training();
  figures.sockets.shares.busy = 0.03;
  EXPECT_EQ(limit_of(figures), "limited by: not the network");
}

TEST(Limit, IsUnknownToAHostThatOnlyReceives) {
  Figures figures = training();
  figures.sockets.shares.busy = 0.03;
  figures.sent_mbps = 9;
  EXPECT_EQ(limit_of(figures), "");
}

TEST(Limit, IsUnknownWithoutConnections) {
  EXPECT_EQ(limit_of({}), "");
  EXPECT_THAT(line_of({}, kWide), Not(HasSubstr("waits")));
}

TEST(Summary, IsWhatAnOperatorWantsToReadAtTheEnd) {
  EXPECT_EQ(summary_of(training(), "runs/a/node1.db"),
            "chokepoint: node1 watched for 03:25\n"
            "  steps         1,120 by marks, median 180 ms, 351.2 samples/s\n"
            "  volume        eth0 out 24.1 GB in 24.0 GB, by packets\n"
            "  throughput    1.88 Gb/s both ways, out 940 Mb/s in 938 Mb/s, over 03:25\n"
            "  retransmitted 1,500 of 15,000,000 packets, 0.01 %\n"
            "  watching      took 0.8 % of a core\n"
            "  record        runs/a/node1.db\n");
}

TEST(Summary, NamesTheRankThatWaitedLongestBesideTheNetwork) {
  Figures figures = training();
  figures.counters.waits = {{.rank = 0, .read_s = 3},
                            {.rank = 1, .batch_s = 41.7, .read_s = 8.2, .write_s = 0.3}};
  EXPECT_THAT(summary_of(figures, "a/n.db"),
              HasSubstr("  waited        rank 1, 41.7 s for its next batch, 8.20 s to read\n"));
  figures.counters.waits = {{.pid = 17, .write_s = 1}};
  EXPECT_THAT(summary_of(figures, "a/n.db"), Not(HasSubstr("waited")));
  figures.elapsed_s = 10;
  EXPECT_THAT(summary_of(figures, "a/n.db"),
              HasSubstr("  waited        process 17, 1.00 s to write\n"));
}

TEST(Summary, SaysWhatWasNotSeenAndWhyEachOnce) {
  Figures figures = training();
  figures.packets_dropped = 3000;
  figures.rows_dropped = 12;
  figures.remarks = {"packets: no right to capture", "a GPU: no driver"};
  figures.counters.remarks = {"a GPU: no driver"};
  const std::string text = summary_of(figures, "a/n.db");
  EXPECT_THAT(text,
              HasSubstr("  not seen      3,000 packets, dropped before chokepoint could read them\n"
                        "  not kept      12 rows of the record\n"
                        "  not seen      packets: no right to capture\n"
                        "  not seen      a GPU: no driver\n"
                        "  watching"));
}

TEST(Summary, NoTextReachesTheTerminalAsACommand) {
  Figures figures = training();
  figures.node = "n\033[31m";
  figures.remarks = {"GPU: \033]0;title\007"};
  const std::string text = summary_of(figures, "a\033c/n.db");
  EXPECT_EQ(text.find_first_of("\033\007"), std::string::npos) << text;
}

TEST(Summary, SaysHowToHaveStepsWhereThereAreNone) {
  EXPECT_THAT(summary_of({}, "n.db"), HasSubstr("chokepoint mark step"));
}

TEST(Summary, OfAJobWithoutTrafficHasNoThroughput) {
  const std::string text = summary_of({}, "n.db");
  EXPECT_THAT(text, Not(HasSubstr("throughput")));
  EXPECT_THAT(text, Not(HasSubstr("retransmitted")));
}

TEST(Summary, DoesNotCountWhatStaysInsideTheHost) {
  Figures figures = training();
  figures.volumes.push_back(
      {.interface = "lo", .sent_bytes = 9'000'000'000'000, .received_bytes = 9'000'000'000'000});
  const std::string text = summary_of(figures, "a/n.db");
  EXPECT_THAT(text, HasSubstr("1.88 Gb/s both ways"));
  EXPECT_THAT(text, Not(HasSubstr("lo out")));
  figures.volumes.erase(figures.volumes.begin());
  EXPECT_THAT(summary_of(figures, "a/n.db"), HasSubstr("lo out 9.00 TB"));
}

TEST(Summary, ShowsSmallVolumesInMegabytes) {
  Figures figures = training();
  figures.volumes = {{.interface = "eth0", .sent_bytes = 4'000'000, .received_bytes = 1'600'000}};
  EXPECT_THAT(summary_of(figures, "a/n.db"), HasSubstr("eth0 out 4.00 MB in 1.60 MB"));
}

}  // namespace
}  // namespace chokepoint::capture::live
