#include "probe/udp/flow_meter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "tests/fakes/nanoseconds.h"

namespace chokepoint::probe::udp {
namespace {

using fakes::kMs;
using fakes::kSecond;

constexpr FlowIdentity kMeteredFlow{.test = 77, .run = 2, .stream = 1};
constexpr std::size_t kPacketBytes = 100;

std::unique_ptr<FlowMeter> meter(std::optional<ClockOffset> sender = std::nullopt) {
  return std::make_unique<FlowMeter>(kMeteredFlow, kSecond, sender);
}

std::vector<std::byte> packets(std::uint64_t sequence, std::size_t count, std::int64_t sent_ns = 1,
                               const FlowIdentity& flow = kMeteredFlow) {
  std::vector<std::byte> bytes(count * kPacketBytes);
  for (std::size_t i = 0; i < count; ++i) {
    write_head({.kind = PacketKind::Data,
                .stream = flow.stream,
                .run = flow.run,
                .test = flow.test,
                .sequence = sequence + i,
                .sent_ns = sent_ns},
               std::span(bytes).subspan(i * kPacketBytes));
  }
  return bytes;
}

TEST(FlowMeter, ASuperFrameIsAsManyPackets) {
  const auto flow = meter();
  const std::vector<std::byte> frame = packets(0, 5);
  flow->add({.bytes = frame, .segment_bytes = kPacketBytes, .arrived_ns = kSecond});
  EXPECT_EQ(flow->sequence().counts().received, 5U);
  EXPECT_EQ(flow->bytes(), 500U);
}

TEST(FlowMeter, TheLastOfASuperFrameMayBeShort) {
  const auto flow = meter();
  const std::vector<std::byte> frame = packets(0, 3);
  flow->add({.bytes = std::span(frame).first(250), .segment_bytes = 100, .arrived_ns = kSecond});
  EXPECT_EQ(flow->sequence().counts().received, 3U);
  EXPECT_EQ(flow->bytes(), 250U);
}

TEST(FlowMeter, WhatIsNotOfThisFlowIsNotCounted) {
  const auto flow = meter();
  for (const FlowIdentity& other : {FlowIdentity{78, 2, 1}, {77, 1, 1}, {77, 2, 0}}) {
    flow->add({.bytes = packets(0, 1, 1, other), .arrived_ns = kSecond});
  }
  flow->add({.bytes = std::vector<std::byte>(500), .segment_bytes = 7, .arrived_ns = kSecond});
  flow->add({.bytes = {}, .segment_bytes = 7, .arrived_ns = kSecond});
  EXPECT_EQ(flow->sequence().counts().received, 0U);
  EXPECT_EQ(flow->foreign(), 3U + 72U);
  flow->finish(0);
  EXPECT_TRUE(flow->intervals().empty());
  EXPECT_FALSE(flow->bytes_per_second());
  EXPECT_FALSE(flow->jitter_ms());
}

TEST(FlowMeter, TheRateIsWhatCameAfterTheFirstArrival) {
  const auto flow = meter();
  for (int i = 0; i < 5; ++i) {
    flow->add(
        {.bytes = packets(static_cast<std::uint64_t>(i), 1), .arrived_ns = kSecond + i * kMs});
  }
  EXPECT_DOUBLE_EQ(*flow->bytes_per_second(), 100'000);
}

TEST(FlowMeter, IntervalsBeginWithTheFirstArrivalAndAPauseIsAnEmptyOne) {
  const auto flow = meter();
  flow->add({.bytes = packets(0, 1), .arrived_ns = 5 * kSecond});
  flow->add({.bytes = packets(2, 1), .arrived_ns = 5 * kSecond + 500 * kMs});
  flow->add({.bytes = packets(3, 1), .arrived_ns = 7 * kSecond + 500 * kMs});
  flow->finish(0);
  ASSERT_EQ(flow->intervals().size(), 3U);
  EXPECT_EQ(flow->intervals()[0].packets, 2U);
  EXPECT_EQ(flow->intervals()[0].missing, 1U);
  EXPECT_EQ(flow->intervals()[1].packets, 0U);
  EXPECT_EQ(flow->intervals()[2].bytes, kPacketBytes);
  EXPECT_EQ(flow->intervals()[2].missing, 0U);
}

TEST(FlowMeter, LossInTheOwnQueueIsToldFromLossInTheNetwork) {
  const auto flow = meter();
  flow->add({.bytes = packets(0, 1), .arrived_ns = kSecond});
  // Two lost on the way, then three for want of room, of which one comes in the end.
  flow->add({.bytes = packets(3, 1), .arrived_ns = kSecond, .queue_drops = 0});
  flow->add({.bytes = packets(7, 1), .arrived_ns = kSecond, .queue_drops = 1});
  flow->add({.bytes = packets(8, 1), .arrived_ns = kSecond, .queue_drops = 1});
  EXPECT_EQ(flow->sequence().lost(9), 5U);
  EXPECT_EQ(flow->lost_in_queue(9), 3U);
  flow->finish(2);
  EXPECT_EQ(flow->lost_in_queue(11), 5U) << "and the last two, since the count rose once more";
  EXPECT_EQ(flow->sequence().lost(11), 7U);
}

TEST(FlowMeter, DelayIsTheSendersClockSeenFromHere) {
  // The sender's clock is 10 s ahead, known within 1 ms.
  const auto flow = meter(ClockOffset{.offset_ns = 10 * kSecond, .uncertainty_ns = kMs});
  flow->add({.bytes = packets(0, 1, 15 * kSecond), .arrived_ns = 5 * kSecond + 3 * kMs});
  EXPECT_EQ(flow->delay_bias_ns(), kMs);
  EXPECT_EQ(flow->delays().max(), 4U * kMs);
  flow->add({.bytes = packets(1, 1, 15 * kSecond), .arrived_ns = 5 * kSecond - 3 * kMs});
  EXPECT_EQ(flow->delays().min(), 0U) << "beyond what the uncertainty allows";
  EXPECT_EQ(meter()->delays().count(), 0U);
}

TEST(Jitter, IsTheSmoothedDifferenceOfGaps) {
  Jitter jitter;
  jitter.add(0, 100);
  EXPECT_FALSE(jitter.milliseconds());
  jitter.add(kMs, kMs + 100);
  EXPECT_DOUBLE_EQ(*jitter.milliseconds(), 0);
  jitter.add(2 * kMs, 2 * kMs + 100 + 16'000);
  EXPECT_DOUBLE_EQ(*jitter.milliseconds(), 0.001);
}

TEST(Jitter, PacketsOfABatchOrOfASuperFrameAreOneSample) {
  Jitter batched;
  Jitter single;
  for (std::int64_t i = 1; i < 20; ++i) {
    const std::int64_t arrived = i * kMs + (i % 3) * 1000;
    single.add(i * kMs, arrived);
    for (int packet = 0; packet < 44; ++packet) {
      batched.add(i * kMs, arrived + (packet % 2));
    }
  }
  EXPECT_DOUBLE_EQ(*batched.milliseconds(), *single.milliseconds());
  EXPECT_GT(*single.milliseconds(), 0);
}

TEST(Jitter, TimesOffTheWireMayBeAnything) {
  Jitter jitter;
  jitter.add(std::numeric_limits<std::int64_t>::min(), 1);
  jitter.add(std::numeric_limits<std::int64_t>::max(), 2);
  jitter.add(0, std::numeric_limits<std::int64_t>::max());
  EXPECT_GE(*jitter.milliseconds(), 0);
}

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
