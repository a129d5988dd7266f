#include "base/trends/joined.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::trends {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

const std::vector<std::string> kHosts{"gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"};

// A path between any two, and a GPU on each.
std::vector<Subject> all_subjects() {
  std::vector<Subject> subjects;
  for (const std::string& from : kHosts) {
    subjects.push_back({SubjectKind::Gpu, from, "0", {}});
    for (const std::string& to : kHosts) {
      if (from != to) {
        subjects.push_back({SubjectKind::Path, from, {}, to});
      }
    }
  }
  return subjects;
}

std::vector<WatchedFigure> all_watched() {
  std::vector<WatchedFigure> watched;
  for (const Subject& subject : all_subjects()) {
    watched.push_back({.subject = subject, .metric = "rate", .time = {0, 1000}});
  }
  return watched;
}

template <class Is>
std::vector<ChangeFinding> findings_of(Is is) {
  std::vector<ChangeFinding> findings;
  for (const Subject& subject : all_subjects()) {
    if (is(subject)) {
      findings.push_back({.subject = subject,
                          .metric = "rate",
                          .is_worse = true,
                          .time = {100, 200},
                          .relative = -0.2});
    }
  }
  return findings;
}

TEST(JoinFindingsTest, NothingOfNothing) {
  EXPECT_THAT(join_findings({}, all_watched()), IsEmpty());
}

// Half of all paths were no longer measured when the change came, or measured for something else.
TEST(JoinFindingsTest, WhatCouldNotHaveAFindingIsNotCounted) {
  const auto is_measured = [](const Subject& subject) {
    return subject.kind == SubjectKind::Path && subject.host < subject.to;
  };
  const auto findings = findings_of(is_measured);
  std::vector<WatchedFigure> watched = all_watched();
  for (WatchedFigure& each : watched) {
    if (each.subject.kind == SubjectKind::Path && !is_measured(each.subject)) {
      each.time = {0, 100};
    }
  }
  const auto joined = join_findings(findings, watched);
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined.front().place, SharedPlace::Everywhere);
  EXPECT_EQ(joined.front().watched, findings.size());
  EXPECT_GT(join_findings(findings, all_watched()).size(), 1U);
  watched = all_watched();
  for (WatchedFigure& each : watched) {
    each.metric = is_measured(each.subject) ? "rate" : "loss";
  }
  EXPECT_THAT(join_findings(findings, watched), SizeIs(1));
}

TEST(JoinFindingsTest, AllPathsFromAHostAreThatHost) {
  const auto findings = findings_of([](const Subject& subject) {
    return subject.kind == SubjectKind::Path && subject.host == "gpu3";
  });
  const auto joined = join_findings(findings, all_watched());
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined[0].place, SharedPlace::FromHost);
  EXPECT_EQ(joined[0].host, "gpu3");
  EXPECT_EQ(sentence_of(joined[0], findings), "6 of 6 paths from gpu3, none elsewhere");
}

TEST(JoinFindingsTest, PathsBothWaysAreOnTheHost) {
  const auto findings = findings_of([](const Subject& subject) {
    return subject.kind == SubjectKind::Path && (subject.host == "gpu3" || subject.to == "gpu3");
  });
  const auto joined = join_findings(findings, all_watched());
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined[0].place, SharedPlace::OnHost);
  EXPECT_EQ(joined[0].affected, 12U);
}

TEST(JoinFindingsTest, AllHostsAtOnceAreACommonChange) {
  const auto findings =
      findings_of([](const Subject& subject) { return subject.kind == SubjectKind::Path; });
  const auto joined = join_findings(findings, all_watched());
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_EQ(joined[0].place, SharedPlace::Everywhere);
  EXPECT_EQ(sentence_of(joined[0], findings), "42 of 42 paths");
}

TEST(JoinFindingsTest, AFewPathsOfAHostAreNotTheHost) {
  const auto findings = findings_of([](const Subject& subject) {
    return subject.kind == SubjectKind::Path && subject.host == "gpu3" && subject.to < "gpu3";
  });
  const auto joined = join_findings(findings, all_watched());
  ASSERT_THAT(joined, SizeIs(2));
  EXPECT_EQ(joined[0].place, SharedPlace::One);
  EXPECT_EQ(joined[0].elsewhere, 1U);
  EXPECT_EQ(sentence_of(joined[0], findings), "the path from gpu3 to gpu1");
}

TEST(JoinFindingsTest, OtherTimesAndDirectionsStayApart) {
  auto findings = findings_of([](const Subject& subject) {
    return subject.kind == SubjectKind::Path && subject.host == "gpu3";
  });
  findings[0].time = {200, 300};
  findings[1].is_worse = false;
  const auto joined = join_findings(findings, all_watched());
  EXPECT_THAT(joined, SizeIs(3 + 3));  // four of six are no longer the host
}

TEST(JoinFindingsTest, SeveralFiguresOfOneSubjectAreOneGroup) {
  std::vector<ChangeFinding> findings{{.subject = {SubjectKind::Gpu, "gpu3", "0", {}},
                                       .metric = "rate",
                                       .is_worse = true,
                                       .time = {100, 200},
                                       .relative = -0.2},
                                      {.subject = {SubjectKind::Gpu, "gpu3", "0", {}},
                                       .metric = "clock",
                                       .is_worse = true,
                                       .time = {150, 260},
                                       .relative = -0.3}};
  const auto joined = join_findings(findings, all_watched());
  ASSERT_THAT(joined, SizeIs(1));
  EXPECT_THAT(joined[0].findings, SizeIs(2));
  EXPECT_EQ(joined[0].time.after_ns, 150);
  EXPECT_EQ(joined[0].time.until_ns, 200);
  EXPECT_EQ(sentence_of(joined[0], findings), "0 of gpu3");
}

}  // namespace
}  // namespace chokepoint::trends
