#include <gmock/gmock.h>

#include "capture/live/line.h"
#include "tests/capture/live/figures.h"

namespace chokepoint::capture::live {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Summary, IsWhatAnOperatorWantsToReadAtTheEnd) {
  EXPECT_EQ(summary_of(training(), "runs/a/node1.db"),
            "chokepoint: node1 watched for 03:25\n"
            "  steps       1,120 by marks, median 180 ms, 351.2 samples/s\n"
            "  volume      eth0 out 24.09 GB in 24.04 GB, by packets\n"
            "  throughput  1.88 Gb/s full duplex, out 940.00 Mb/s in 938.00 Mb/s, over 03:25\n"
            "  sent again  1,500 of 15,000,000 packets, 0.01 %\n"
            "  watching    took 0.8 % of a core\n"
            "  record      runs/a/node1.db\n"
            "  next        chokepoint record show runs/a\n");
}

TEST(Summary, SaysWhatWasNotSeenAndWhyEachOnce) {
  Figures figures = training();
  figures.packets_dropped = 3000;
  figures.rows_dropped = 12;
  figures.remarks = {"packets: no right to capture", "a GPU: no driver"};
  figures.counters.remarks = {"a GPU: no driver"};
  const std::string text = summary_of(figures, "a/n.db");
  EXPECT_THAT(text,
              HasSubstr("  not seen    3,000 packets, dropped before they could be looked at\n"
                        "  not kept    12 rows of the record\n"
                        "  not seen    packets: no right to capture\n"
                        "  not seen    a GPU: no driver\n"
                        "  watching"));
}

TEST(Summary, SaysHowToHaveStepsWhereThereAreNone) {
  EXPECT_THAT(summary_of({}, "n.db"), HasSubstr("chokepoint mark step"));
}

TEST(Summary, OfAJobWithoutTrafficHasNoThroughput) {
  const std::string text = summary_of({}, "n.db");
  EXPECT_THAT(text, Not(HasSubstr("throughput")));
  EXPECT_THAT(text, Not(HasSubstr("sent again")));
  EXPECT_THAT(text, HasSubstr("record show .\n"));
}

TEST(Summary, DoesNotCountWhatStaysInsideTheHost) {
  Figures figures = training();
  figures.volumes.push_back(
      {.interface = "lo", .sent_bytes = 9'000'000'000'000, .received_bytes = 9'000'000'000'000});
  const std::string text = summary_of(figures, "a/n.db");
  EXPECT_THAT(text, HasSubstr("1.88 Gb/s full duplex"));
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
