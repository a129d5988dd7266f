#include "preflight/plan/cut.h"

#include <gtest/gtest.h>

namespace chokepoint::preflight::plan {
namespace {

bool all(const Pair& /*pair*/) { return true; }

TEST(Cut, halves_are_the_first_and_the_second) {
  const Cut cut = halves({1, 2, 5, 7, 9});
  EXPECT_EQ(cut.left, (std::vector<HostIndex>{1, 2}));
  EXPECT_EQ(cut.right, (std::vector<HostIndex>{5, 7, 9}));
}

TEST(Cut, like_stands_opposite_to_like) {
  EXPECT_EQ(across(halves({0, 1, 2, 3}), all), (Round{{0, 2}, {1, 3}}));
}

TEST(Cut, who_is_known_goes_first) {
  const auto known = [](const Pair& pair) { return pair == Pair{0, 3} || pair == Pair{1, 3}; };
  EXPECT_EQ(across(halves({0, 1, 2, 3}), known), (Round{{0, 3}, {1, 2}}));
}

TEST(Cut, nobody_is_in_two_pairs_where_groups_differ) {
  const Cut cut{.left = {4, 5, 6}, .right = {1, 2}};
  EXPECT_EQ(across(cut, all), (Round{{1, 4}, {2, 5}}));
  EXPECT_TRUE(across({.left = {1}, .right = {}}, all).empty());
}

}  // namespace
}  // namespace chokepoint::preflight::plan
