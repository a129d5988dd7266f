#include "capture/live/line.h"

#include <gmock/gmock.h>

#include "base/cli/text.h"
#include "tests/capture/live/figures.h"
#include "tests/fakes/golden.h"
#include "tests/fakes/page_rows.h"

namespace chokepoint::capture::live {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;

constexpr std::size_t kWide = 120;
constexpr std::size_t kNarrow = 80;

std::vector<std::string> parts_of(std::string line) {
  constexpr std::string_view kBetween = " · ";
  std::vector<std::string> parts;
  for (std::size_t at = line.find(kBetween); at != std::string::npos; at = line.find(kBetween)) {
    parts.push_back(line.substr(0, at));
    line.erase(0, at + kBetween.size());
  }
  parts.push_back(line);
  return parts;
}

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
  EXPECT_THAT(parts_of(line_of(figures, kWide)), Contains("not seen 12,034"));
}

TEST(Line, TellsWhatTheGpusDoAndWhatSlowsThemDown) {
  constexpr std::size_t kVeryWide = 250;
  Figures figures = training();
  figures.counters.gpu_percent = 97.4;
  EXPECT_THAT(parts_of(line_of(figures, kVeryWide)), Contains("GPU 97 %"));
  figures.counters.slowed_gpus = {{"power-cap", 2}, {"sync-boost", 0}, {"thermal", 1}};
  EXPECT_THAT(parts_of(line_of(figures, kVeryWide)), Contains("GPU 97 % (power-cap, thermal)"));
}

TEST(Line, TellsSlowStepsInSecondsAndFastLinksInGigabits) {
  Figures figures = training();
  figures.steps.last_ms = 12'345;
  figures.sent_mbps = 94'100;
  figures.received_mbps = 9'380;
  EXPECT_THAT(parts_of(line_of(figures, kWide)),
              IsSupersetOf({"step 12.3 s (marks)", "out 94.1 in 9.38 Gb/s"}));
}

TEST(Line, DoesNotRoundALossAway) {
  Figures figures = training();
  figures.retransmitted_packets = 1;
  EXPECT_THAT(parts_of(line_of(figures, kWide)), Contains("resent <0.01 %"));
  figures.retransmitted_packets = 0;
  EXPECT_THAT(parts_of(line_of(figures, kWide)), Contains("resent 0 %"));
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

TEST(Limit, IsUnknownWithoutConnections) { EXPECT_EQ(limit_of({}), ""); }

// With a rank that waited, and with what was not seen; one remark came twice.
Figures troubled_training() {
  Figures figures = training();
  figures.counters.waits = {{.rank = 0, .read_s = 3},
                            {.rank = 1, .batch_s = 41.7, .read_s = 8.2, .write_s = 0.3}};
  figures.packets_dropped = 3000;
  figures.rows_dropped = 12;
  figures.remarks = {"packets: no right to capture", "a GPU: no driver"};
  figures.counters.remarks = {"a GPU: no driver"};
  return figures;
}

TEST(Summary, PictureOfATroubledRun) {
  EXPECT_GOLDEN("run_summary", summary_of(troubled_training(), "runs/a/node1.db"));
}

TEST(Summary, OfARunWithoutTroublesHasNoRowsOfThem) {
  EXPECT_THAT(fakes::labels_of(summary_of(training(), "a/n.db")),
              ElementsAre("chokepoint:", "steps", "volume", "throughput", "retransmitted",
                          "watching", "record"));
}

TEST(Summary, NamesAWaitThatIsAShareOfTheRun) {
  Figures figures = training();
  figures.counters.waits = {{.pid = 17, .write_s = 1}};
  EXPECT_FALSE(fakes::row(summary_of(figures, "a/n.db"), "waited"));
  figures.elapsed_s = 10;
  EXPECT_TRUE(fakes::row(summary_of(figures, "a/n.db"), "waited")->starts_with("process 17, "));
}

TEST(Summary, NoTextReachesTheTerminalAsACommand) {
  Figures figures = training();
  figures.node = "n\033[31m";
  figures.remarks = {"GPU: \033]0;title\007"};
  const std::string text = summary_of(figures, "a\033c/n.db");
  EXPECT_EQ(text.find_first_of("\033\007"), std::string::npos) << text;
}

TEST(Summary, SaysHowToHaveStepsWhereThereAreNone) {
  EXPECT_NE(summary_of({}, "n.db").find("chokepoint mark step"), std::string::npos);
}

TEST(Summary, OfAJobWithoutTrafficHasNoThroughput) {
  const std::string text = summary_of({}, "n.db");
  EXPECT_FALSE(fakes::row(text, "throughput"));
  EXPECT_FALSE(fakes::row(text, "retransmitted"));
}

TEST(Summary, DoesNotCountWhatStaysInsideTheHost) {
  Figures figures = training();
  figures.volumes.push_back(
      {.interface = "lo", .sent_bytes = 9'000'000'000'000, .received_bytes = 9'000'000'000'000});
  const std::string without = summary_of(training(), "a/n.db");
  EXPECT_EQ(fakes::row(summary_of(figures, "a/n.db"), "volume"), fakes::row(without, "volume"));
  EXPECT_EQ(fakes::row(summary_of(figures, "a/n.db"), "throughput"),
            fakes::row(without, "throughput"));
  figures.volumes.erase(figures.volumes.begin());
  EXPECT_TRUE(fakes::row(summary_of(figures, "a/n.db"), "volume")->starts_with("lo out 9.00 TB"));
}

TEST(Summary, ShowsSmallVolumesInMegabytes) {
  Figures figures = training();
  figures.volumes = {{.interface = "eth0", .sent_bytes = 4'000'000, .received_bytes = 1'600'000}};
  EXPECT_TRUE(fakes::row(summary_of(figures, "a/n.db"), "volume")
                  ->starts_with("eth0 out 4.00 MB in 1.60 MB"));
}

}  // namespace
}  // namespace chokepoint::capture::live
