#include "analysis/web/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/web/over_time.h"
#include "base/json/codec.h"

namespace chokepoint::analysis::web {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kHour = 3'600'000'000'000;
constexpr std::int64_t kBegin = 20'000 * 24 * kHour;
constexpr int kHours = 96;
constexpr std::int64_t kNow = kBegin + kHours * kHour;

history::Series throughput(const history::Subject& subject) {
  return {.subject = subject,
          .metric = "throughput_mbps",
          .setting = "test=tcp",
          .unit = "Mb/s",
          .better = documents::Better::More};
}

// A figure every hour, which is another one from `since` on; some noise.
history::MeasuredSeries hourly(const history::Series& series, double before, double after,
                               int since = kHours) {
  history::MeasuredSeries measured{.series = series};
  for (int hour = 0; hour < kHours; ++hour) {
    const double noise = 1 + 0.005 * ((hour * 7 + 3) % 11 - 5) / 5;
    measured.points.push_back({.wall_ns = kBegin + hour * kHour,
                               .value = (hour < since ? before : after) * noise,
                               .source = "run" + std::to_string(hour)});
  }
  return measured;
}

history::MeasuredSeries path(const std::string& from, const std::string& to,
                             double after = 94'000) {
  return hourly(throughput({.kind = history::SubjectKind::Path, .host = from, .to = to}), 94'000,
                after, 70);
}

Fleet shown(const std::vector<history::MeasuredSeries>& series) {
  const auto findings = trends::changed_since(series, {}, kBegin, kNow);
  const auto hosts = trends::unusual_hosts(series, {}, kNow);
  return fleet_of(
      {.series = series, .findings = findings, .hosts = hosts, .since_ns = kBegin, .now_ns = kNow});
}

std::vector<history::MeasuredSeries> mesh(double after_of_c) {
  std::vector<history::MeasuredSeries> all;
  for (const std::string from : {"a", "b", "c", "d", "e"}) {
    for (const std::string to : {"a", "b", "c", "d", "e"}) {
      if (from != to) {
        all.push_back(path(from, to, from == "c" ? after_of_c : 94'000));
      }
    }
  }
  return all;
}

TEST(Fleet, MarksWhatBecameWorseAndWhoDiffers) {
  const Fleet fleet = shown(mesh(60'000));
  ASSERT_THAT(fleet.findings, SizeIs(1));
  EXPECT_THAT(fleet.findings.front().sentence, HasSubstr("paths from c"));
  ASSERT_THAT(fleet.columns, SizeIs(1));
  EXPECT_EQ(fleet.columns.front().title, "throughput");
  ASSERT_THAT(fleet.subjects, SizeIs(5));
  const Cell& usual = fleet.subjects[0].cells.at(0);
  EXPECT_EQ(usual.series, 4U);
  EXPECT_THAT(usual.value, DoubleNear(94'000, 1'000));
  EXPECT_FALSE(usual.since || usual.others);
  const Cell& worse = fleet.subjects[2].cells.at(0);
  EXPECT_EQ(worse.is_worse, true);
  EXPECT_THAT(*worse.percent, DoubleNear(-36, 1));
  EXPECT_EQ(worse.since->ns, kBegin + 70 * kHour);
  EXPECT_THAT(*worse.times, DoubleNear(0.64, 0.01));
}

TEST(Fleet, AJobIsAfterHostsAndAClockThatRunsAheadIsLeftOut) {
  history::MeasuredSeries job =
      hourly({.subject = {.kind = history::SubjectKind::Job, .name = "a job"},
              .metric = "p99_step_ms",
              .unit = "ms",
              .better = documents::Better::Less},
             100, 100);
  job.points.push_back({.wall_ns = kNow + kHour, .value = 7});
  const Fleet fleet = shown({job, path("b", "c")});
  ASSERT_THAT(fleet.subjects, SizeIs(2));
  EXPECT_EQ(fleet.subjects[0].kind, "host");
  EXPECT_EQ(fleet.subjects[1].kind, "job");
  EXPECT_THAT(fleet.subjects[1].cells.at(0).value, DoubleNear(100, 1));
}

TEST(Fleet, IsBounded) {
  std::vector<history::MeasuredSeries> all;
  for (int at = 0; at < 1100; ++at) {
    history::Series series =
        throughput({.kind = history::SubjectKind::Host, .host = "h" + std::to_string(at)});
    series.setting = std::to_string(at % 20);
    all.push_back({.series = series, .points = {{.wall_ns = kBegin, .value = 1}}});
  }
  const Fleet fleet = shown(all);
  EXPECT_THAT(fleet.columns, SizeIs(kMaxColumns));
  EXPECT_THAT(fleet.subjects, SizeIs(kMaxFleetRows));
  EXPECT_EQ(fleet.left_out, 4U + 100U);
}

history::StateSpan state(int first, int last, const std::string& driver) {
  return {.host = "c",
          .first_ns = kBegin + first * kHour,
          .last_ns = kBegin + last * kHour,
          .settings = std::make_shared<const host::Settings>(
              host::Settings{{"gpu", {{"driver", driver}}}})};
}

TEST(OverTime, HasChangesAndSettingsOfItsHosts) {
  const std::vector<history::StateSpan> states{state(0, 69, "550"), state(70, 95, "570")};
  const SubjectOverTime subject =
      over_time(std::vector{path("c", "a"), path("c", "b", 60'000)}, states, kNow);
  ASSERT_THAT(subject.series, SizeIs(2));
  EXPECT_EQ(subject.series[0].subject, "c > b");
  ASSERT_THAT(subject.series[0].changes, SizeIs(1));
  const TimedChange& change = subject.series[0].changes[0];
  EXPECT_TRUE(change.is_worse);
  EXPECT_EQ(change.source_before, "run69");
  EXPECT_EQ(change.source_after, "run70");
  EXPECT_THAT(subject.series[1].changes, IsEmpty());
  ASSERT_THAT(subject.settings, SizeIs(1));
  EXPECT_EQ(subject.settings[0].name, "gpu driver");
  EXPECT_EQ(subject.settings[0].after, "570");
  EXPECT_THAT(over_time(std::vector{path("a", "b")}, states, kNow).settings, IsEmpty());
}

TEST(OverTime, OfManyPointsTheExtremesStay) {
  history::MeasuredSeries series{.series = throughput({.host = "a"})};
  for (int at = 0; at < 10'000; ++at) {
    series.points.push_back({.wall_ns = kBegin + at, .value = at == 7'777 ? 1e6 : at % 3});
  }
  const SubjectOverTime subject = over_time(std::vector{series}, {}, kNow);
  ASSERT_THAT(subject.series, SizeIs(1));
  const TimedSeries& timed = subject.series[0];
  EXPECT_LE(timed.values.size(), kMaxPointsShown);
  EXPECT_EQ(timed.points, 10'000U);
  EXPECT_EQ(*std::ranges::max_element(timed.values), 1e6);
  EXPECT_TRUE(std::ranges::is_sorted(timed.times_s));
}

}  // namespace
}  // namespace chokepoint::analysis::web
