#include "base/record/series_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "base/record/names.h"

namespace chokepoint::record {
namespace {

TEST(SeriesTable, NoNameStandsTwice) {
  std::set<std::string_view> names;
  std::set<std::string_view> metrics;
  for (const SeriesDescription& row : series_table()) {
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_TRUE(row.metric.name.empty() || metrics.insert(row.metric.name).second)
        << row.metric.name;
    EXPECT_FALSE(row.text.empty()) << row.name;
  }
}

TEST(SeriesTable, ASeriesIsDescribedByItsOwnRowOrItsFamilys) {
  ASSERT_NE(describe_series(kNicSentBytes), nullptr);
  EXPECT_EQ(describe_series(kNicSentBytes)->unit, "bytes");
  EXPECT_EQ(describe_series("rdma.sent_bytes")->name, "rdma.sent_bytes");
  EXPECT_EQ(describe_series("rdma.np_cnp_sent")->name, "rdma.");
  EXPECT_TRUE(describe_series("rdma.np_cnp_sent")->is_family);
  EXPECT_EQ(describe_series("tcpext.TCPTimeouts")->name, "tcpext.");
  EXPECT_EQ(describe_series("rdma."), describe_series("rdma.np_cnp_sent"));
  EXPECT_EQ(describe_series("nothing"), nullptr);
  EXPECT_EQ(describe_series(""), nullptr);
}

// Prometheus' conventions: counters end in _total, and the unit stands before that.
TEST(SeriesTable, MetricsAreNamedByKindAndUnit) {
  for (const SeriesDescription& row : series_table()) {
    if (row.metric.name.empty()) {
      continue;
    }
    EXPECT_EQ(row.kind, SeriesKind::Counter) << row.name;
    const std::string_view unit = row.unit == "ns" || row.unit == "us" ? "_seconds_total"
                                  : row.unit == "bytes"                ? "_bytes_total"
                                                                       : "_total";
    EXPECT_TRUE(row.metric.name.ends_with(unit)) << row.metric.name;
  }
}

// What is drawn of a counter's growth needs a counter, and the other way round.
TEST(SeriesTable, TracksFitTheirSeries) {
  for (const SeriesDescription& row : series_table()) {
    if (row.track.group.empty()) {
      continue;
    }
    const bool is_level =
        row.track.value == TrackValue::Level || row.track.value == TrackValue::LevelBytesToMbps;
    EXPECT_EQ(is_level, row.kind == SeriesKind::Gauge) << row.name;
    const bool is_of_bytes = row.track.value == TrackValue::BytesToMbps ||
                             row.track.value == TrackValue::BytesToMegabytes;
    EXPECT_EQ(is_of_bytes, row.unit == "bytes" && row.kind == SeriesKind::Counter) << row.name;
    EXPECT_EQ(row.track.value == TrackValue::PercentOfTime, row.unit == "ns") << row.name;
    EXPECT_FALSE(row.track.label.empty() || row.track.unit.empty()) << row.name;
  }
}

}  // namespace
}  // namespace chokepoint::record
