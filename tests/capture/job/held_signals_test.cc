#include "capture/job/held_signals.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace chokepoint::capture::job {
namespace {

constexpr pid_t kWe = 100;
constexpr pid_t kScheduler = 7;
constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSpreadMs = HeldSignals::kSpread.count() / kMs;
constexpr auto kAll = HeldSignals::kAllReplied;
constexpr Delivery kToAll{.number = SIGTERM, .to_whole_group = true};
constexpr Delivery kToFirst{.number = SIGTERM, .to_whole_group = false};

sys::Signal term_from(pid_t sender) {
  return {.number = SIGTERM, .code = SI_USER, .sender = sender};
}

// The witnesses answer at once.
std::vector<Delivery> settled(HeldSignals& held, std::int64_t now_ms) {
  const auto query = held.query(now_ms * kMs);
  return held.settle(now_ms * kMs, query.value_or(kAll), true);
}

TEST(HeldSignals, OursAloneIsForTheFirstProcess) {
  HeldSignals held(kWe);
  held.hold(term_from(kScheduler), 0);
  EXPECT_EQ(held.next_ns(), kSpreadMs * kMs);
  EXPECT_TRUE(settled(held, kSpreadMs - 1).empty());
  EXPECT_EQ(settled(held, kSpreadMs), std::vector{kToFirst});
  EXPECT_FALSE(held.next_ns());
}

TEST(HeldSignals, OurGroupsIsForTheJobsGroup) {
  for (const std::int64_t seen_ms : {-50, 0, 50}) {
    HeldSignals held(kWe);
    if (seen_ms < 0) {
      held.note(WitnessedGroup::Own, term_from(kScheduler), seen_ms * kMs);
    }
    held.hold(term_from(kScheduler), 0);
    if (seen_ms >= 0) {
      held.note(WitnessedGroup::Own, term_from(kScheduler), seen_ms * kMs);
    }
    EXPECT_EQ(settled(held, kSpreadMs), std::vector{kToAll}) << seen_ms;
  }
}

TEST(HeldSignals, WhatTheJobHasIsNotPassedOn) {
  HeldSignals before(kWe);
  before.note(WitnessedGroup::Jobs, term_from(kScheduler), 0);
  before.hold(term_from(kScheduler), 50 * kMs);
  EXPECT_FALSE(before.next_ns());

  HeldSignals after(kWe);
  after.hold(term_from(kScheduler), 0);
  after.note(WitnessedGroup::Own, term_from(kScheduler), 1 * kMs);
  after.note(WitnessedGroup::Jobs, term_from(kScheduler), 50 * kMs);
  EXPECT_FALSE(after.next_ns());
}

TEST(HeldSignals, AWitnessMayAnswerLate) {
  HeldSignals held(kWe);
  held.hold(term_from(kScheduler), 0);
  EXPECT_EQ(held.query(kSpreadMs * kMs), 1);
  EXPECT_TRUE(held.settle(500 * kMs, 0, true).empty());
  held.note(WitnessedGroup::Jobs, term_from(kScheduler), 600 * kMs);
  EXPECT_TRUE(held.settle(600 * kMs, 1, true).empty());

  held.hold(term_from(kScheduler), 2000 * kMs);
  EXPECT_EQ(held.query((2000 + kSpreadMs) * kMs), 2);
  EXPECT_EQ(held.next_ns(), (3000 + kSpreadMs) * kMs);
  EXPECT_TRUE(held.settle(3000 * kMs, 1, true).empty());
  EXPECT_EQ(held.settle((3000 + kSpreadMs) * kMs, 1, true), std::vector{kToFirst});
}

TEST(HeldSignals, AnEarlierOneOfTheJobsGroupIsAnother) {
  HeldSignals held(kWe);
  held.note(WitnessedGroup::Jobs, term_from(kScheduler), 0);
  held.hold(term_from(kScheduler), (kSpreadMs + 1) * kMs);
  EXPECT_EQ(settled(held, 2 * kSpreadMs + 1), std::vector{kToFirst});
}

TEST(HeldSignals, OneOfAnotherSenderIsAnother) {
  HeldSignals held(kWe);
  held.note(WitnessedGroup::Jobs, term_from(kScheduler), 0);
  held.hold(term_from(kScheduler + 1), 0);
  EXPECT_EQ(settled(held, kSpreadMs), std::vector{kToFirst});
}

TEST(HeldSignals, ATerminalsEndIsOneEvent) {
  const sys::Signal shells{.number = SIGHUP, .code = SI_USER, .sender = kScheduler};
  const sys::Signal kernels{.number = SIGHUP, .code = SI_KERNEL, .sender = 0};
  HeldSignals held(kWe);
  held.hold(shells, 0);
  held.note(WitnessedGroup::Jobs, kernels, 1 * kMs);
  EXPECT_FALSE(held.next_ns());
  held.hold(shells, 2 * kMs);
  EXPECT_FALSE(held.next_ns());
}

TEST(HeldSignals, WhatWePassedOnIsNoEvidence) {
  HeldSignals held(kWe);
  held.hold(term_from(kWe), 0);
  held.note(WitnessedGroup::Jobs, term_from(kWe), 0);
  EXPECT_EQ(settled(held, kSpreadMs), std::vector{kToFirst});
}

TEST(HeldSignals, TwoArePassedOnTwiceAndInOrder) {
  HeldSignals held(kWe);
  held.hold(term_from(kScheduler), 0);
  held.hold({.number = SIGUSR1, .code = SI_USER, .sender = kScheduler}, 10 * kMs);
  held.hold(term_from(kScheduler), 20 * kMs);
  EXPECT_EQ(settled(held, kSpreadMs + 5), std::vector{kToFirst});
  EXPECT_EQ(settled(held, kSpreadMs + 100), (std::vector<Delivery>{{.number = SIGUSR1}, kToFirst}));
}

TEST(HeldSignals, TwoAtOnceOfOneSenderAreOne) {
  HeldSignals held(kWe);
  held.hold(term_from(kScheduler), 0);
  held.hold(term_from(kScheduler), 1 * kMs);
  held.hold(term_from(kScheduler + 1), 2 * kMs);
  held.note(WitnessedGroup::Own, term_from(kScheduler), 3 * kMs);
  EXPECT_EQ(settled(held, kSpreadMs + 50), (std::vector{kToAll, kToFirst}));
}

TEST(HeldSignals, WithoutAWitnessInOurGroupAllOfTheJobGetsIt) {
  HeldSignals held(kWe);
  held.hold(term_from(kScheduler), 0);
  EXPECT_TRUE(held.query(kSpreadMs * kMs));
  EXPECT_EQ(held.settle(kSpreadMs * kMs, kAll, false), std::vector{kToAll});
}

}  // namespace
}  // namespace chokepoint::capture::job
