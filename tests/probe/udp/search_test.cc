#include "probe/udp/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace chokepoint::probe::udp {
namespace {

constexpr double kMaxLoss = 0.001;

// A line of a capacity: what is more is lost, or held up in its queue.
struct Line {
  double capacity = 0;
  bool long_queue = false;
  double sender = 1e18;

  Trial try_out(double rate) const {
    const double offered = std::min(rate, sender);
    const double delivered = std::min(offered, capacity);
    return {.bits_per_s = rate,
            .offered_bits_per_s = offered,
            .delivered_bits_per_s = delivered,
            .loss = long_queue ? 0 : 1 - delivered / offered};
  }
};

struct Searched {
  double best = 0;
  int trials = 0;
  std::optional<Trial> obstacle = {};
};

template <class TryOut>
Searched search(TryOut try_out, double most = 0) {
  RateSearch rates(kMaxLoss, most);
  Searched searched;
  while (const auto rate = rates.next()) {
    rates.add(try_out(*rate));
    ++searched.trials;
  }
  searched.best = rates.best_bits_per_s();
  searched.obstacle = rates.obstacle();
  return searched;
}

TEST(Judge, WhatAFailedTrialFailedOf) {
  const Trial good{.bits_per_s = 100, .offered_bits_per_s = 100, .delivered_bits_per_s = 99.9};
  EXPECT_EQ(judge(good, kMaxLoss), TrialEnd::Passed);
  Trial bad = good;
  bad.loss = 0.01;
  EXPECT_EQ(judge(bad, kMaxLoss), TrialEnd::Loss);
  bad.loss_in_queue = 0.009;
  EXPECT_EQ(judge(bad, kMaxLoss), TrialEnd::ReceiverQueue);
  bad = good;
  bad.delivered_bits_per_s = 90;
  EXPECT_EQ(judge(bad, kMaxLoss), TrialEnd::FillsQueue);
  bad.offered_bits_per_s = 90;
  EXPECT_EQ(judge(bad, kMaxLoss), TrialEnd::Sender);
}

TEST(RateSearch, FindsTheCapacityOfLinesOfEveryKind) {
  for (const double capacity : {200e3, 7e6, 941e6, 9.4e9, 90e9}) {
    for (const bool long_queue : {false, true}) {
      const Line line{.capacity = capacity, .long_queue = long_queue};
      const Searched found = search([&](double rate) { return line.try_out(rate); });
      EXPECT_LE(found.best, capacity * 1.02) << capacity;
      EXPECT_GE(found.best, capacity * 0.98) << capacity;
      EXPECT_LE(found.trials, 30) << capacity;
      ASSERT_TRUE(found.obstacle);
      EXPECT_GT(found.obstacle->bits_per_s, capacity);
    }
  }
}

TEST(RateSearch, StopsAtWhatTheSenderCan) {
  const Line line{.capacity = 1e12, .sender = 3e9};
  const Searched found = search([&](double rate) { return line.try_out(rate); });
  EXPECT_NEAR(found.best, 3e9, 3e9 * 0.04);
  EXPECT_EQ(judge(*found.obstacle, kMaxLoss), TrialEnd::Sender);
}

TEST(RateSearch, StopsAtWhatTheServerGrants) {
  const Line line{.capacity = 1e12};
  const Searched found = search([&](double rate) { return line.try_out(rate); }, 250e6);
  EXPECT_EQ(found.best, 250e6);
  EXPECT_FALSE(found.obstacle);
}

TEST(RateSearch, OneTrialThatFailsByChanceIsForgiven) {
  const Line line{.capacity = 1e9};
  for (unsigned seed = 1; seed <= 50; ++seed) {
    std::mt19937 random(seed);
    bool last_failed = false;
    const Searched found = search([&](double rate) {
      Trial trial = line.try_out(rate);
      last_failed = !last_failed && random() % 4 == 0;
      trial.loss = last_failed ? 0.02 : trial.loss;
      return trial;
    });
    EXPECT_NEAR(found.best, 1e9, 0.03e9) << "seed " << seed;
  }
}

TEST(RateSearch, AStalledSenderIsGivenAnotherTryButNotForever) {
  const Line line{.capacity = 1e9};
  int stalls = 0;
  const auto busy_host = [&](double rate) {
    Trial trial = line.try_out(rate);
    trial.stalled = ++stalls % 2 != 0;
    trial.loss = trial.stalled ? 0.1 : trial.loss;
    return trial;
  };
  EXPECT_NEAR(search(busy_host).best, 1e9, 0.03e9);
  const Searched hopeless = search([&](double rate) {
    Trial trial = line.try_out(rate);
    trial.stalled = true;
    trial.loss = 0.1;
    return trial;
  });
  EXPECT_EQ(hopeless.best, 0);
}

TEST(RateSearch, WhereNothingPassesItSaysSo) {
  const Searched found = search([](double rate) {
    return Trial{.bits_per_s = rate,
                 .offered_bits_per_s = rate,
                 .delivered_bits_per_s = rate * 0.9,
                 .loss = 0.1};
  });
  EXPECT_EQ(found.best, 0);
  EXPECT_TRUE(found.obstacle);
}

}  // namespace
}  // namespace chokepoint::probe::udp
