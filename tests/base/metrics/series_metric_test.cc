#include "base/metrics/series_metric.h"

#include <gmock/gmock.h>

#include "base/record/names.h"
#include "tests/base/metrics/exposition_checker.h"

namespace chokepoint::metrics {
namespace {

using testing::HasSubstr;

std::string text_of(std::string_view series, const std::string& subject, double value) {
  MetricText text;
  add_series(text, *record::describe_series(series), subject, value, {{"node", "a"}});
  return text.text();
}

TEST(SeriesMetric, HasItsLabelAndBaseUnits) {
  EXPECT_THAT(text_of(record::kDiskBusy, "nvme0n1", 2.5e9),
              HasSubstr("chokepoint_disk_busy_seconds_total{node=\"a\",disk=\"nvme0n1\"} 2.5\n"));
  EXPECT_THAT(
      text_of(record::kNicReceivedPauseTime, "eth0", 500),
      HasSubstr("chokepoint_nic_received_pause_seconds_total{node=\"a\",interface=\"eth0\"} "
                "0.0005\n"));
  EXPECT_THAT(text_of(record::kRefaults, "", 4096),
              HasSubstr("chokepoint_memory_refault_bytes_total{node=\"a\"} 4096\n"));
}

TEST(SeriesMetric, KeepsToTheFormatWhateverADeviceIsCalled) {
  for (const char* const subject : {"a\"b", "a\nb", "a\\", "a}b{", "\xFF\xFE", "mlx5_0/1", " "}) {
    const ExpositionChecker checker(text_of(record::kRdmaSentBytes, subject, 1));
    EXPECT_EQ(checker.samples(), 1U) << subject;
  }
}

TEST(SeriesMetric, IsNothingWithoutAName) {
  EXPECT_EQ(text_of(record::kCpuBusy, "cpu0", 1), "");
  EXPECT_EQ(text_of("tcpext.TCPTimeouts", "", 1), "");
}

}  // namespace
}  // namespace chokepoint::metrics
