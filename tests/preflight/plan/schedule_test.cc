#include "preflight/plan/schedule.h"

#include <gtest/gtest.h>

namespace chokepoint::preflight::plan {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

Schedule of(const char* effort, std::size_t hosts, Milliseconds limit = Milliseconds(0)) {
  return schedule(*effort_named(effort), hosts, 1, limit);
}

TEST(Effort, is_known_by_name) {
  EXPECT_TRUE(effort_named("default"));
  EXPECT_FALSE(effort_named("lazy"));
}

TEST(Schedule, a_quick_one_between_sixteen_takes_less_than_a_minute) {
  EXPECT_LT(estimate(of("quick", 16)), seconds(60));
  EXPECT_FALSE(of("quick", 16).is_sampled());
  EXPECT_EQ(of("quick", 16).pairs(), 120U);
}

TEST(Schedule, a_quick_one_grows_no_further) {
  EXPECT_TRUE(of("quick", 4096).is_sampled());
  EXPECT_EQ(estimate(of("quick", 4096)), estimate(of("quick", 16)));
}

TEST(Schedule, the_usual_one_takes_minutes) {
  EXPECT_LT(estimate(of("default", 16)), minutes(5));
  EXPECT_LT(estimate(of("default", 4096)), minutes(20));
}

TEST(Schedule, a_thorough_one_leaves_no_pair_out) {
  EXPECT_FALSE(of("thorough", 4096).is_sampled());
  EXPECT_EQ(of("thorough", 4096).pairs(), 4096U * 4095U / 2);
  EXPECT_EQ(of("thorough", 33).path_rounds(), 33U);
}

TEST(Schedule, a_limit_takes_rounds_away) {
  const Schedule made = of("default", 16, seconds(90));
  EXPECT_TRUE(made.is_sampled());
  EXPECT_LE(estimate(made), seconds(90));
  EXPECT_GT(made.rounds, 3U);
  EXPECT_EQ(of("default", 16, seconds(1)).rounds, 1U);
}

TEST(Schedule, its_rounds_are_the_tournaments_unless_it_is_a_sample) {
  EXPECT_EQ(of("quick", 6).round(3), Tournament(6).round(3));
  EXPECT_EQ(of("quick", 100).round(3), Sample(100, 15, 1).round(3));
}

TEST(Schedule, is_told_in_a_line) {
  EXPECT_EQ(describe(of("quick", 2)).substr(0, 15), "2 hosts, 1 pair");
  EXPECT_EQ(rough(Milliseconds(17'950)), "18 s");
  EXPECT_EQ(rough(Milliseconds(400'000)), "7 min");
  EXPECT_EQ(describe(of("quick", 16)).substr(0, 20), "16 hosts, 120 pairs,");
  EXPECT_EQ(describe(of("quick", 4096)).substr(0, 36), "4096 hosts, 30720 of 8386560 pairs, ");
}

TEST(Schedule, nobody_to_meet_is_no_work) {
  EXPECT_EQ(of("default", 1).rounds, 0U);
  EXPECT_EQ(of("default", 1).pairs(), 0U);
  EXPECT_LT(estimate(of("default", 0)), seconds(10));
}

}  // namespace
}  // namespace chokepoint::preflight::plan
