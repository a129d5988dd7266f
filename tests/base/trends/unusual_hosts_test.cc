#include "base/trends/unusual_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::trends {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kMinuteNs = 60'000'000'000;
constexpr std::int64_t kNow = std::int64_t{29'000'000} * kMinuteNs;

history::MeasuredSeries rate(const std::string& from, const std::string& to, double mbps,
                             std::int64_t minutes_ago = 10) {
  return {.series = {.subject = {.kind = history::SubjectKind::Path, .host = from, .to = to},
                     .metric = "throughput_mbps",
                     .setting = "test=preflight",
                     .unit = "Mb/s",
                     .better = documents::Better::More},
          .points = {{.wall_ns = kNow - minutes_ago * kMinuteNs, .value = mbps}}};
}

// Each of n hosts sends to each; those from one host are slow.
std::vector<history::MeasuredSeries> mesh(int hosts, int slow, std::int64_t minutes_ago = 10) {
  std::vector<history::MeasuredSeries> all;
  for (int from = 0; from < hosts; ++from) {
    for (int to = 0; to < hosts; ++to) {
      if (from != to) {
        const double noise = 1 + 0.004 * ((from * 5 + to * 3) % 7 - 3);
        all.push_back(rate("h" + std::to_string(from), "h" + std::to_string(to),
                           (from == slow ? 600 : 940) * noise, minutes_ago));
      }
    }
  }
  return all;
}

history::StateSpan hardware(const std::string& host, const std::string& model) {
  return {.host = host,
          .first_ns = kNow - 100 * kMinuteNs,
          .last_ns = kNow,
          .settings =
              std::make_shared<const host::Settings>(host::Settings{{"cpu", {{"model", model}}}})};
}

TEST(UnusualHosts, OneWhosePathsAreSlowIsNamedOnce) {
  const auto found = unusual_hosts(mesh(8, 3), {}, kNow);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().host, "h3");
  EXPECT_EQ(found.front().peers, 7U);
  EXPECT_TRUE(found.front().is_worse);
  EXPECT_NEAR(*found.front().relative, -0.36, 0.02);
  EXPECT_THAT(sentence_of(found.front()), HasSubstr("h3, paths from it: throughput "));
}

TEST(UnusualHosts, AlikeHostsAreUsual) {
  EXPECT_THAT(unusual_hosts(mesh(8, -1), {}, kNow), IsEmpty());
}

TEST(UnusualHosts, AnotherModelIsNoPeer) {
  std::vector<history::StateSpan> states;
  for (int host = 0; host < 8; ++host) {
    states.push_back(hardware("h" + std::to_string(host), host == 3 ? "old" : "new"));
  }
  EXPECT_THAT(unusual_hosts(mesh(8, 3), states, kNow), IsEmpty());
}

TEST(UnusualHosts, WhatIsOldOrOfTheFutureDoesNotCount) {
  constexpr std::int64_t kTwoWeeks = std::int64_t{14} * 24 * 60;
  EXPECT_THAT(unusual_hosts(mesh(8, 3, kTwoWeeks), {}, kNow), IsEmpty());
  EXPECT_THAT(unusual_hosts(mesh(8, 3, -5), {}, kNow), IsEmpty());
}

TEST(UnusualHosts, ThreeHostsCannotSayWhichIsWrong) {
  EXPECT_THAT(unusual_hosts(mesh(3, 1), {}, kNow), IsEmpty());
}

}  // namespace
}  // namespace chokepoint::trends
