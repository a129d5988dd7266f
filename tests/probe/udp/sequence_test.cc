#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "probe/udp/flow_meter.h"

namespace chokepoint::probe::udp {
namespace {

SequenceCounts counts_of(const std::vector<std::uint64_t>& arrivals) {
  const auto tracker = std::make_unique<SequenceTracker>();
  for (const std::uint64_t sequence : arrivals) {
    tracker->add(sequence);
  }
  return tracker->counts();
}

TEST(Sequence, InOrder) {
  const SequenceCounts counts = counts_of({0, 1, 2, 3});
  EXPECT_EQ(counts.received, 4U);
  EXPECT_EQ(counts.duplicates, 0U);
  EXPECT_EQ(counts.out_of_order, 0U);
}

TEST(Sequence, LossReorderingAndDuplicationTogether) {
  // 2 and 6 are lost, 1 comes late, 4 twice, 1 once more.
  const auto tracker = std::make_unique<SequenceTracker>();
  for (const std::uint64_t sequence : {0, 3, 1, 4, 4, 5, 1, 7}) {
    tracker->add(sequence);
  }
  EXPECT_EQ(tracker->counts().received, 6U);
  EXPECT_EQ(tracker->counts().duplicates, 2U);
  EXPECT_EQ(tracker->counts().out_of_order, 1U);
  EXPECT_EQ(tracker->missing(), 2U);
  EXPECT_EQ(tracker->lost(8), 2U);
  EXPECT_EQ(tracker->lost(10), 4U) << "the last two never came";
  EXPECT_EQ(tracker->lost(3), 0U) << "never negative, whatever the sender says";
}

TEST(Sequence, BeyondTheWindowNothingIsClaimed) {
  const auto tracker = std::make_unique<SequenceTracker>();
  tracker->add(0);
  tracker->add(SequenceTracker::kWindow + 5);
  EXPECT_FALSE(tracker->add(0)) << "a duplicate, but nobody knows any more";
  EXPECT_FALSE(tracker->add(5));
  EXPECT_TRUE(tracker->add(6));
  EXPECT_EQ(tracker->counts().ancient, 2U);
  EXPECT_EQ(tracker->counts().duplicates, 0U);
  EXPECT_EQ(tracker->counts().out_of_order, 1U);
}

TEST(Sequence, NumbersThatAJumpPassedOverAreNotTakenForSeen) {
  const auto tracker = std::make_unique<SequenceTracker>();
  for (std::uint64_t sequence = 0; sequence < SequenceTracker::kWindow; ++sequence) {
    tracker->add(sequence);
  }
  tracker->add(3 * SequenceTracker::kWindow);
  EXPECT_TRUE(tracker->add(3 * SequenceTracker::kWindow - 1));
  tracker->add(~std::uint64_t{0});
  tracker->add(~std::uint64_t{0} - 1);
  EXPECT_EQ(tracker->counts().ancient, 1U) << "the number that has no next one";
  EXPECT_EQ(tracker->next_expected(), ~std::uint64_t{0});
}

// What the counts mean, without any window.
SequenceCounts judged_slowly(const std::vector<std::uint64_t>& arrivals) {
  SequenceCounts counts;
  std::set<std::uint64_t> seen;
  std::uint64_t next = 0;
  for (const std::uint64_t sequence : arrivals) {
    if (!seen.insert(sequence).second) {
      ++counts.duplicates;
      continue;
    }
    ++counts.received;
    counts.out_of_order += sequence < next ? 1 : 0;
    next = std::max(next, sequence + 1);
  }
  return counts;
}

// Arrivals of a stream that a network has lost, doubled, delayed and dropped in stretches.
std::vector<std::uint64_t> mangled(std::mt19937& random) {
  std::uniform_int_distribution<std::uint64_t> one_in(1, 200);
  const std::uint64_t losing = one_in(random);
  const std::uint64_t doubling = one_in(random);
  const std::uint64_t delaying = one_in(random);
  std::vector<std::pair<double, std::uint64_t>> when;
  for (std::uint64_t sequence = 0; sequence < 3000; ++sequence) {
    if (random() % losing == 0) {
      continue;
    }
    const auto delay = [&] { return random() % delaying == 0 ? random() % 500 : 0; };
    when.emplace_back(static_cast<double>(sequence + delay()), sequence);
    if (random() % doubling == 0) {
      when.emplace_back(static_cast<double>(sequence + delay()) + 0.5, sequence);
    }
    if (random() % 1000 == 0) {
      sequence += random() % 1000;
    }
  }
  std::ranges::stable_sort(when, {}, &std::pair<double, std::uint64_t>::first);
  std::vector<std::uint64_t> arrivals;
  for (const auto& [time, sequence] : when) {
    arrivals.push_back(sequence);
  }
  return arrivals;
}

TEST(Sequence, AgreesWithTheSlowWayOnWhateverTheNetworkDoes) {
  for (unsigned seed = 1; seed <= 100; ++seed) {
    std::mt19937 random(seed);
    const std::vector<std::uint64_t> arrivals = mangled(random);
    const SequenceCounts fast = counts_of(arrivals);
    const SequenceCounts slow = judged_slowly(arrivals);
    ASSERT_EQ(fast.received, slow.received) << "seed " << seed;
    ASSERT_EQ(fast.duplicates, slow.duplicates) << "seed " << seed;
    ASSERT_EQ(fast.out_of_order, slow.out_of_order) << "seed " << seed;
    ASSERT_EQ(fast.ancient, 0U) << "seed " << seed;
  }
}

TEST(Sequence, TheSameFarFromZero) {
  std::mt19937 random(7);
  std::vector<std::uint64_t> arrivals = mangled(random);
  SequenceCounts near = counts_of(arrivals);
  for (std::uint64_t& sequence : arrivals) {
    sequence += 5 * SequenceTracker::kWindow - 1500;
  }
  const SequenceCounts far = counts_of(arrivals);
  EXPECT_EQ(far.received, near.received);
  EXPECT_EQ(far.duplicates, near.duplicates);
  EXPECT_EQ(far.out_of_order, near.out_of_order);
}

}  // namespace
}  // namespace chokepoint::probe::udp
