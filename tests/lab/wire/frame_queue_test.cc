#include "tests/lab/wire/frame_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

namespace chokepoint::lab {
namespace {

constexpr std::size_t kLongest = 1000;

bool put(FrameQueue& queue, std::size_t length, std::uint8_t mark) {
  const auto room = queue.room();
  if (room.empty()) {
    return false;
  }
  EXPECT_GE(room.size(), kLongest);
  std::ranges::fill(room.first(length), std::byte{mark});
  queue.push(length, mark, {.bytes = length});
  return true;
}

void expect_front(const FrameQueue& queue, std::size_t length, std::uint8_t mark) {
  const FrameQueue::Frame frame = queue.front();
  EXPECT_EQ(frame.data.size(), length);
  EXPECT_EQ(frame.due_ns, mark);
  EXPECT_EQ(frame.size.bytes, length);
  EXPECT_TRUE(std::ranges::all_of(frame.data, [&](std::byte b) { return b == std::byte{mark}; }));
}

TEST(FrameQueue, FramesComeOutAsTheyWentIn) {
  FrameQueue queue(10'000, kLongest);
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(put(queue, 60, 1));
  EXPECT_TRUE(put(queue, kLongest, 2));
  expect_front(queue, 60, 1);
  queue.pop();
  EXPECT_EQ(queue.next_due_ns(), 2);
  expect_front(queue, kLongest, 2);
  queue.pop();
  EXPECT_TRUE(queue.empty());
}

TEST(FrameQueue, WhatWasReadAndNotKeptLeavesNoTrace) {
  FrameQueue queue(10'000, kLongest);
  std::ranges::fill(queue.room(), std::byte{9});
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(put(queue, 10, 1));
  expect_front(queue, 10, 1);
}

TEST(FrameQueue, IsFullAtLastAndHasRoomAgain) {
  FrameQueue queue(5'000, kLongest);
  std::uint8_t kept = 0;
  while (put(queue, 500, kept)) {
    ++kept;
    ASSERT_LT(kept, 100);
  }
  EXPECT_GE(kept, 6);
  // A frame of the longest kind needs more than one of these to go.
  queue.pop();
  queue.pop();
  EXPECT_TRUE(put(queue, 500, kept));
  for (std::uint8_t mark = 2; mark <= kept; ++mark) {
    expect_front(queue, 500, mark);
    queue.pop();
  }
  EXPECT_TRUE(queue.empty());
}

TEST(FrameQueue, GoesRoundManyTimesWithFramesOfAllLengths) {
  FrameQueue queue(7'000, kLongest);
  std::uint8_t in = 0;
  std::uint8_t out = 0;
  const auto length = [](std::uint8_t mark) { return 1 + mark * std::size_t{37} % kLongest; };
  for (int round = 0; round < 5'000; ++round) {
    while (put(queue, length(in), in)) {
      ++in;
    }
    for (int popped = 0; popped <= round % 4 && !queue.empty(); ++popped) {
      expect_front(queue, length(out), out);
      queue.pop();
      ++out;
    }
  }
}

}  // namespace
}  // namespace chokepoint::lab
