#include "probe/path/loss.h"

#include <gtest/gtest.h>

namespace chokepoint::probe::path {
namespace {

std::vector<Hop> hops_of_four(const std::vector<int>& answers) {
  std::vector<Hop> hops;
  for (const int answered : answers) {
    hops.push_back({.ttl = static_cast<int>(hops.size()) + 1, .sent = 4, .answered = answered});
  }
  return hops;
}

TEST(Loss, ARouterThatRationsItsAnswersLosesNothing) {
  EXPECT_EQ(judge_loss(hops_of_four({4, 1, 4, 4})),
            (std::vector{Silence::None, Silence::RateLimited, Silence::None, Silence::None}));
}

TEST(Loss, ARouterThatNeverAnswersForwardsAllTheSame) {
  EXPECT_EQ(judge_loss(hops_of_four({4, 0, 4})),
            (std::vector{Silence::None, Silence::Silent, Silence::None}));
}

TEST(Loss, WhatIsLostFromAHopOnToTheTargetIsThePaths) {
  EXPECT_EQ(judge_loss(hops_of_four({4, 3, 3, 3})),
            (std::vector{Silence::None, Silence::PathLoss, Silence::PathLoss, Silence::PathLoss}));
}

TEST(Loss, MoreThanTheTargetLosesIsStillRationing) {
  EXPECT_EQ(judge_loss(hops_of_four({4, 1, 3}))[1], Silence::RateLimited);
}

TEST(Loss, BehindTheLastAnswerNobodyKnows) {
  EXPECT_EQ(judge_loss(hops_of_four({4, 0, 0})),
            (std::vector{Silence::None, Silence::Unknown, Silence::Unknown}));
}

TEST(Loss, ThePathsIsTheTargets) {
  EXPECT_EQ(path_loss_percent({.hops = hops_of_four({4, 1, 3}), .reached = true}), 25);
  EXPECT_EQ(path_loss_percent({.hops = hops_of_four({4, 0})}), std::nullopt);
  EXPECT_EQ(path_loss_percent({}), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::probe::path
