#include "base/trends/lately.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/history/job.h"
#include "base/trends/finding_text.h"

namespace chokepoint::trends {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::int64_t kHour = 3'600'000'000'000;
constexpr std::int64_t kBegin = 20'000 * 24 * kHour;  // a day of 2024
constexpr int kHours = 96;

// A figure every hour, which is another one from `since` on; some noise.
history::MeasuredSeries path(const std::string& from, const std::string& to, double before,
                             double after, int since) {
  history::MeasuredSeries series{
      .series = {.subject = {.kind = history::SubjectKind::Path, .host = from, .to = to},
                 .metric = "throughput_mbps",
                 .unit = "Mb/s",
                 .better = documents::Better::More}};
  for (int hour = 0; hour < kHours; ++hour) {
    const double noise = 1 + 0.005 * ((hour * 7 + 3) % 11 - 5) / 5;
    series.points.push_back({.wall_ns = kBegin + hour * kHour,
                             .value = (hour < since ? before : after) * noise,
                             .source = "run" + std::to_string(hour)});
  }
  return series;
}

history::StateSpan state(const std::string& host, int first, int last, const std::string& driver) {
  return {.host = host,
          .first_ns = kBegin + first * kHour,
          .last_ns = kBegin + last * kHour,
          .settings = std::make_shared<const host::Settings>(
              host::Settings{{"gpu", {{"driver", driver}}}, {"sysctl", {{"rmem", "1"}}}})};
}

std::vector<HistoryFinding> lately(const std::vector<history::MeasuredSeries>& all,
                                   const std::vector<history::StateSpan>& states = {}) {
  return changed_since(all, states, kBegin, kBegin + kHours * kHour);
}

TEST(Lately, PathsOfOneHostAreOneFindingWithWhatChangedThere) {
  std::vector<history::MeasuredSeries> all;
  for (const std::string from : {"a", "b", "c", "d"}) {
    for (const std::string to : {"a", "b", "c", "d"}) {
      if (from != to) {
        all.push_back(path(from, to, 94'000, from == "c" ? 71'000 : 94'000, 70));
      }
    }
  }
  const auto found = lately(all, {state("a", 0, 95, "550"), state("b", 0, 95, "550"),
                                  state("c", 0, 69, "550"), state("c", 70, 95, "570")});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_TRUE(found.front().is_worse);
  EXPECT_THAT(found.front().changes, SizeIs(3));
  EXPECT_EQ(found.front().host, "c");
  const SeriesChange& change = found.front().changes.front();
  EXPECT_EQ(change.change.first_bad_ns, kBegin + 70 * kHour);
  EXPECT_EQ(change.source_before, "run69");
  EXPECT_EQ(change.source_after, "run70");
  ASSERT_THAT(found.front().settings, SizeIs(1));
  EXPECT_EQ(found.front().settings.front().new_value, "570");
  const std::string text = headline_of(found.front());
  EXPECT_THAT(text, HasSubstr("(-24 %) since 2024-10-06 22:00"));
  EXPECT_THAT(text, HasSubstr("3 of 3 paths from c, none elsewhere"));
  EXPECT_THAT(text, HasSubstr("on c meanwhile: gpu driver 550 → 570"));
}

TEST(Lately, SaysWhereNothingKnownChanged) {
  const auto found =
      lately({path("a", "b", 100, 60, 50)}, {state("a", 0, 95, "550"), state("b", 0, 95, "550")});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found.front().settings, IsEmpty());
  EXPECT_THAT(headline_of(found.front()), HasSubstr("no setting that is known changed on a"));
}

TEST(Lately, BothEndsOfAPathAreLookedAt) {
  const auto found =
      lately({path("a", "b", 100, 60, 50)},
             {state("a", 0, 95, "550"), state("b", 0, 49, "550"), state("b", 50, 95, "570")});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().host, "b");
  ASSERT_THAT(found.front().settings, SizeIs(1));
  EXPECT_EQ(found.front().settings.front().new_value, "570");
}

TEST(Lately, AJobIsLookedAtWhereItRan) {
  history::MeasuredSeries job = path("", "", 100, 160, 50);
  job.series = {
      .subject = {.kind = history::SubjectKind::Job, .name = "train.py (2 ranks, 2 hosts)"},
      .metric = "step_ms",
      .better = documents::Better::Less};
  std::vector<history::MeasuredSeries> all{job};
  for (const char* host : {"a", "b"}) {
    all.push_back(path("", "", 10, 10, 50));
    all.back().series = {.subject = {.kind = history::SubjectKind::Host, .host = host},
                         .metric = "computing_ms",
                         .setting = history::setting_of_job(job.series.subject.name),
                         .better = documents::Better::Less};
  }
  const std::vector<history::StateSpan> quiet{state("a", 0, 95, "550"), state("c", 0, 49, "550"),
                                              state("c", 50, 95, "570")};
  const auto nowhere = lately(all, quiet);
  ASSERT_THAT(nowhere, SizeIs(1));
  EXPECT_THAT(nowhere.front().settings, IsEmpty());
  EXPECT_THAT(headline_of(nowhere.front()), HasSubstr("changed on a, b meanwhile"));
  std::vector<history::StateSpan> changed = quiet;
  changed.push_back(state("b", 0, 49, "550"));
  changed.push_back(state("b", 50, 95, "570"));
  const auto found = lately(all, changed);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(headline_of(found.front()), HasSubstr("on b meanwhile: gpu driver 550 → 570"));
}

TEST(Lately, APathWithTwoChangesIsNamedOnce) {
  history::MeasuredSeries rdma = path("a", "b", 100, 60, 50);
  rdma.series.metric = "rdma_mbps";
  const auto found = lately({path("a", "b", 100, 60, 50), rdma});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found.front().changes, SizeIs(2));
  EXPECT_THAT(headline_of(found.front()), Not(HasSubstr("the path from a to b")));
}

TEST(Lately, WhatBecameWorseComesFirst) {
  const auto found = lately({path("a", "b", 100, 180, 50), path("c", "d", 100, 80, 60)});
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_TRUE(found[0].is_worse);
  EXPECT_FALSE(found[1].is_worse);
}

TEST(Lately, AQuietHistoryAndAClockThatRunsAheadAreNoFindings) {
  EXPECT_THAT(lately({path("a", "b", 100, 100, 50)}), IsEmpty());
  history::MeasuredSeries ahead = path("a", "b", 100, 50, 48);
  for (std::size_t at = 48; at < ahead.points.size(); ++at) {
    ahead.points[at].wall_ns += 10'000 * kHour;
  }
  EXPECT_THAT(lately({ahead}), IsEmpty());
  EXPECT_THAT(lately({history::MeasuredSeries{}}), IsEmpty());
}

// Now and then its clock is a year off: those points are elsewhere, and what changed is found.
TEST(Lately, AClockThatIsAYearOffHidesNothing) {
  constexpr int kYear = 365 * 24;
  for (const int off : {-kYear, kYear}) {
    history::MeasuredSeries quiet = path("a", "b", 100, 100, 0);
    history::MeasuredSeries changed = path("a", "b", 100, 60, 70);
    for (history::MeasuredSeries* series : {&quiet, &changed}) {
      for (std::size_t at = 0; at < 60; at += 7) {
        series->points[at].wall_ns += off * kHour;
      }
      std::ranges::sort(series->points, {}, &history::Measured::wall_ns);
    }
    EXPECT_THAT(lately({quiet}), IsEmpty());
    const auto found = lately({changed}, {state("a", std::min(off, 0), std::max(off, 69), "550"),
                                          state("a", 70, 95, "570")});
    ASSERT_THAT(found, SizeIs(1)) << off;
    EXPECT_EQ(found.front().changes.front().change.first_bad_ns, kBegin + 70 * kHour);
    EXPECT_THAT(found.front().settings, SizeIs(1)) << off;
  }
}

TEST(Lately, WhatWasNotReadForAWhileIsNoChange) {
  history::StateSpan without = state("a", 30, 40, "");
  without.settings =
      std::make_shared<const host::Settings>(host::Settings{{"sysctl", {{"rmem", "1"}}}});
  EXPECT_THAT(
      setting_changes(std::vector{state("a", 0, 20, "550"), without, state("a", 50, 60, "550")}),
      IsEmpty());
  const auto changes =
      setting_changes(std::vector{state("a", 0, 20, "550"), without, state("a", 50, 60, "570")});
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes.front().time.after_ns, kBegin + 20 * kHour);
  EXPECT_EQ(changes.front().time.until_ns, kBegin + 50 * kHour);
}

}  // namespace
}  // namespace chokepoint::trends
