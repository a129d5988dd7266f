#include "capture/step/tagged_calls.h"

#include <gtest/gtest.h>

namespace chokepoint::capture::step {
namespace {

constexpr std::int64_t kStepNs = 100'000'000;
constexpr std::uint64_t kReserved = std::uint64_t{1} << 63U;

class TaggedStepsTest : public testing::Test {
 protected:
  void take(std::uint64_t tag, std::int64_t t_ns, std::optional<std::int64_t> rank = 3) {
    steps_.take({.rank = rank, .tag = tag, .t_ns = t_ns},
                [this](const Step& step) { found_.push_back(step); });
  }
  // Three calls a step.
  void count(std::uint64_t from, std::uint64_t to, std::optional<std::int64_t> rank = 3) {
    for (std::uint64_t tag = from; tag < to; ++tag) {
      for (std::int64_t call = 0; call < 3; ++call) {
        take(tag, static_cast<std::int64_t>(tag) * kStepNs + call * 1'000, rank);
      }
    }
  }

  TaggedSteps steps_;
  std::vector<Step> found_;
};

TEST_F(TaggedStepsTest, TagsThatCountAreStepsFromTheFirstOn) {
  count(7, 7 + 16);
  EXPECT_TRUE(found_.empty());
  count(7 + 16, 7 + 20);
  ASSERT_EQ(found_.size(), 19U);
  EXPECT_EQ(found_[0].number, 7);
  EXPECT_EQ(found_[0].start_ns, 7 * kStepNs);
  EXPECT_EQ(found_[0].end_ns, 8 * kStepNs);
  EXPECT_EQ(found_[0].rank, 3);
  EXPECT_EQ(found_[18].number, 25);
}

TEST_F(TaggedStepsTest, PhasesThatRecurAreNone) {
  std::int64_t t_ns = 0;
  for (int turn = 0; turn < 20; ++turn) {
    for (std::uint64_t phase = 1; phase <= 5; ++phase) {
      take(phase, t_ns += kStepNs);
    }
  }
  EXPECT_TRUE(found_.empty());
}

TEST_F(TaggedStepsTest, AJumpBeginsAnew) {
  count(1, 30);
  const std::size_t before = found_.size();
  count(1'000, 1'010);
  EXPECT_EQ(found_.size(), before);
  count(1'010, 1'030);
  EXPECT_EQ(found_.back().number, 1'028);
  EXPECT_EQ(found_[before].number, 1'000);
}

TEST_F(TaggedStepsTest, ALateCallOfTheStepBeforeChangesNothing) {
  count(1, 20);
  const std::size_t before = found_.size();
  take(18, 19 * kStepNs + 5'000);
  EXPECT_EQ(found_.size(), before);
  count(20, 22);
  EXPECT_EQ(found_.back().number, 20);
}

TEST_F(TaggedStepsTest, TagsOfNcclsOwnAndNoneAreIgnored) {
  for (std::uint64_t call = 0; call < 40; ++call) {
    take(0, static_cast<std::int64_t>(call) * kStepNs);
    take(kReserved + call, static_cast<std::int64_t>(call) * kStepNs);
  }
  EXPECT_TRUE(found_.empty());
}

TEST_F(TaggedStepsTest, RanksCountEachForItself) {
  for (std::uint64_t tag = 1; tag < 30; ++tag) {
    take(tag, static_cast<std::int64_t>(tag) * kStepNs, 0);
    take(tag + 100, static_cast<std::int64_t>(tag) * kStepNs, 1);
  }
  EXPECT_EQ(found_.size(), 2 * 28U);
}

}  // namespace
}  // namespace chokepoint::capture::step
