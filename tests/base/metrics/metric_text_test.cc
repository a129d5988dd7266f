#include "base/metrics/metric_text.h"

#include <gmock/gmock.h>

#include <limits>

namespace chokepoint::metrics {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr const char* kLost = "\xEF\xBF\xBD";

TEST(MetricTextOf, WritesAFamilyOnceAndASampleOnce) {
  MetricText text(Labels{{"run", "r"}});
  text.counter("a_total", "Of a.", 1, {{"node", "x"}});
  text.gauge("b", "Of b.", 0.5);
  text.counter("a_total", "Of a.", 2, {{"node", "y\"\\\n"}});
  text.counter("a_total", "Of a.", 3, {{"node", "x"}});
  text.gauge("c", "Not known.", std::nullopt);
  EXPECT_EQ(text.text(),
            "# HELP chokepoint_a_total Of a.\n# TYPE chokepoint_a_total counter\n"
            "chokepoint_a_total{run=\"r\",node=\"x\"} 3\n"
            "chokepoint_a_total{run=\"r\",node=\"y\\\"\\\\\\n\"} 2\n"
            "# HELP chokepoint_b Of b.\n# TYPE chokepoint_b gauge\nchokepoint_b{run=\"r\"} 0.5\n");
}

TEST(MetricTextOf, HasNoFamilyOfWhatIsNoNumber) {
  MetricText text;
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    text.gauge("a", "Of a.", value);
    text.counter("a_total", "Of a.", value);
  }
  EXPECT_THAT(text.families(), IsEmpty());
  EXPECT_EQ(text.text(), "");
}

TEST(MetricTextOf, ReplacesWhatIsNotUtf8) {
  MetricText text;
  text.gauge("a", "Of a.", 1, {{"node", "x\xFF"}});
  EXPECT_EQ(text.families().front().samples.front().written,
            std::string("{node=\"x") + kLost + "\"}");
}

TEST(MetricTextOf, OwnsWhatItWasGiven) {
  MetricText text;
  {
    const std::string help = "Of what is gone when it is written.";
    text.gauge("a", help, 1);
  }
  EXPECT_EQ(text.text(),
            "# HELP chokepoint_a Of what is gone when it is written.\n# TYPE chokepoint_a gauge\n"
            "chokepoint_a 1\n");
}

TEST(MetricTextOf, NumbersKeepAllTheirDigits) {
  MetricText text;
  text.gauge("a", "Of a.", 24'087'500'001.0);
  text.gauge("b", "Of b.", 0.1);
  text.gauge("c", "Of c.", 1e300);
  EXPECT_EQ(text.text(),
            "# HELP chokepoint_a Of a.\n# TYPE chokepoint_a gauge\nchokepoint_a 24087500001\n"
            "# HELP chokepoint_b Of b.\n# TYPE chokepoint_b gauge\nchokepoint_b 0.1\n"
            "# HELP chokepoint_c Of c.\n# TYPE chokepoint_c gauge\nchokepoint_c 1e+300\n");
}

TEST(MetricLabels, NamesArePlain) {
  EXPECT_EQ(label_name("batch size/\xC3\xA4"), "batch_size___");
  EXPECT_EQ(label_name("a_B9"), "a_B9");
}

TEST(MetricLabels, OfARunAreKeptOnceByName) {
  Labels labels{{"version", "1"}};
  add_run_labels(labels, {{"a-b", "1"}, {"a.b", "2"}, {"version", "3"}});
  EXPECT_THAT(labels, ElementsAre(Pair("version", "1"), Pair("label_a_b", "1"),
                                  Pair("label_version", "3")));
}

}  // namespace
}  // namespace chokepoint::metrics
