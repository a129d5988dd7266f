#include "capture/observer/flow_timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::observer {
namespace {

using fakes::kMs;

constexpr std::uint32_t kSize = 1'000;

// One connection's data as one end sees it.
class End {
 public:
  void sees(std::int64_t time_ns, std::uint32_t sequence, std::uint8_t direction = 0) {
    packet::Packet packet;
    packet.time_ns = time_ns;
    packet.kind = packet::Kind::Tcp;
    packet.payload_bytes = kSize;
    packet.tcp.sequence = sequence;
    seen.direction = direction;
    marks.take(packet, seen);
  }

  std::vector<std::uint32_t> sequences(std::uint8_t direction = 0) {
    marks.settle(0, true);
    std::vector<std::uint32_t> sequences;
    for (const FlowMark& mark : marks.chosen()) {
      if (mark.direction == direction) {
        sequences.push_back(mark.sequence);
      }
    }
    return sequences;
  }

  FlowMarks marks;
  flow::Seen seen{.slot = 3, .is_flow = true};
};

TEST(FlowMarks, TheFirstDataAfterAPauseIsOne) {
  End end;
  end.sees(1'000 * kMs, 5'000);
  end.sees(1'019 * kMs, 6'000);
  end.sees(1'100 * kMs, 7'000);
  end.sees(1'101 * kMs, 8'000);
  end.marks.settle(1'151 * kMs);
  ASSERT_EQ(end.marks.chosen().size(), 1U);
  const FlowMark& mark = end.marks.chosen()[0];
  EXPECT_EQ(mark.time_ns, 1'100 * kMs);
  EXPECT_EQ(mark.sequence, 7'000U);
  EXPECT_EQ(mark.slot, 3U);
  EXPECT_EQ(mark.direction, 0);
}

TEST(FlowMarks, WhatCameBeforeTheFirstPacketIsNotKnownToBeAPause) {
  End end;
  end.sees(1'000 * kMs, 5'000);
  EXPECT_TRUE(end.sequences().empty());
}

TEST(FlowMarks, EachDirectionHasItsOwnPauses) {
  End end;
  for (int i = 0; i < 100; ++i) {
    end.sees((1'000 + i) * kMs, 1'000U * i, 0);
  }
  end.sees(1'000 * kMs, 70, 1);
  end.sees(1'099 * kMs, 70 + kSize, 1);
  EXPECT_TRUE(end.sequences(0).empty());
  EXPECT_EQ(end.sequences(1), std::vector<std::uint32_t>{70 + kSize});
}

TEST(FlowMarks, WhatIsSentAgainIsNone) {
  End end;
  end.sees(1'000 * kMs, 5'000);
  end.sees(1'001 * kMs, 6'000);
  end.sees(1'300 * kMs, 6'000);
  end.sees(1'600 * kMs, 5'000);
  EXPECT_TRUE(end.sequences().empty());
}

TEST(FlowMarks, SequenceNumbersWrap) {
  End end;
  end.sees(1'000 * kMs, 0xffffff00);
  end.sees(1'100 * kMs, 0xffffff00 + kSize);
  EXPECT_EQ(end.sequences(), std::vector<std::uint32_t>{0xffffff00 + kSize});
}

TEST(FlowMarks, TheyLieApart) {
  End end;
  std::int64_t now_ns = 1'000 * kMs;
  for (std::uint32_t i = 0; i < 10'000; ++i, now_ns += 21 * kMs) {
    end.sees(now_ns, i * kSize);
  }
  end.marks.settle(now_ns, true);
  const std::vector<FlowMark>& marks = end.marks.chosen();
  ASSERT_GT(marks.size(), 300U) << "in 210 seconds";
  for (std::size_t i = 1; i < marks.size(); ++i) {
    const bool is_first = i <= FlowMarks::kFirstMarks;
    EXPECT_GE(marks[i].time_ns - marks[i - 1].time_ns,
              is_first ? FlowMarks::kFirstApartNs : FlowMarks::kApartNs);
  }
}

// In steps of 60 ms, so that a choice by time alone would never meet the other's again.
TEST(FlowMarks, AnEndThatBeginsLaterAndMissesPacketsChoosesTheSame) {
  End sender;
  End receiver;
  for (std::uint32_t i = 0; i < 5'000; ++i) {
    const std::int64_t now_ns = 1'000 * kMs + i * 60 * kMs;
    sender.sees(now_ns, i * kSize);
    if (i >= 33 && i % 97 != 0) {
      receiver.sees(now_ns + 200'000 + (i * 7'919) % 500'000, i * kSize);
    }
  }
  const std::vector<std::uint32_t> sent = sender.sequences();
  const std::set<std::uint32_t> chosen(sent.begin(), sent.end());
  const std::vector<std::uint32_t> received = receiver.sequences();
  ASSERT_GT(received.size(), 500U);
  const auto both =
      std::ranges::count_if(received, [&](std::uint32_t each) { return chosen.contains(each); });
  EXPECT_GT(both * 100, static_cast<std::ptrdiff_t>(received.size()) * 90);
}

TEST(FlowMarks, AnotherFlowInTheSameSlotBeginsAnew) {
  End end;
  end.sees(1'000 * kMs, 5'000);
  end.seen.generation = 1;
  end.sees(1'100 * kMs, 6'000);
  EXPECT_TRUE(end.sequences().empty());
}

TEST(FlowMarks, OfAFlowThatGoesTheLastIsChosenAtOnce) {
  End end;
  end.sees(1'000 * kMs, 5'000);
  end.sees(1'100 * kMs, 6'000);
  end.marks.end(3);
  EXPECT_EQ(end.marks.chosen().size(), 1U);
  end.marks.clear();
  EXPECT_TRUE(end.sequences().empty()) << "it is nobody's any more";
}

TEST(FlowMarks, MemoryIsBoundedWhereNobodyTakesThem) {
  End end;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    end.sees(1'000 * kMs + i * 300 * kMs, i * kSize);
  }
  EXPECT_EQ(end.marks.chosen().size(), FlowMarks::kMaxMarks);
}

}  // namespace
}  // namespace chokepoint::capture::observer
