#include "probe/latency/frames.h"

#include <gtest/gtest.h>

#include <vector>

namespace chokepoint::probe::latency {
namespace {

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// Data, Get 7, Data, Object 9, Fill.
std::vector<std::byte> conversation() {
  std::vector<std::byte> bytes;
  const std::vector<std::byte> filler(kDataBytes, std::byte{0x5a});
  append(bytes, bytes_of({.type = FrameType::Data, .length = kDataBytes}));
  append(bytes, filler);
  append(bytes, bytes_of({.type = FrameType::Get, .number = 7}));
  append(bytes, bytes_of({.type = FrameType::Data, .length = 3}));
  append(bytes, std::span(filler).first(3));
  append(bytes, object_bytes(9, 1'500'000));
  append(bytes, bytes_of({.type = FrameType::Fill}));
  return bytes;
}

std::vector<Frame> scan(std::span<const std::byte> bytes, std::size_t at_a_time) {
  FrameScanner scanner;
  std::vector<Frame> frames;
  while (!bytes.empty()) {
    const std::size_t count = std::min(at_a_time, bytes.size());
    const Result<> taken =
        scanner.take(bytes.first(count), [&](const Frame& frame) { frames.push_back(frame); });
    EXPECT_TRUE(taken);
    bytes = bytes.subspan(count);
  }
  EXPECT_EQ(scanner.data_bytes(), kDataBytes + 3);
  return frames;
}

TEST(Frames, ArriveWhereverTheyAreCut) {
  for (const std::size_t at_a_time : {1UL, 7UL, 4096UL, 1UL << 20U}) {
    const std::vector<Frame> frames = scan(conversation(), at_a_time);
    ASSERT_EQ(frames.size(), 3U) << at_a_time;
    EXPECT_EQ(frames[0].head.type, FrameType::Get);
    EXPECT_EQ(frames[0].head.number, 7U);
    EXPECT_EQ(frames[1].head.type, FrameType::Object);
    EXPECT_EQ(frames[1].head.number, 9U);
    EXPECT_EQ(frames[1].rtt_us, 1'500'000U);
    EXPECT_EQ(frames[2].head.type, FrameType::Fill);
  }
}

TEST(Frames, ALengthThatTheTypeCannotHaveIsRefused) {
  const std::vector<FrameHead> wrong{
      {.type = FrameType::Data, .length = 0},
      {.type = FrameType::Data, .length = kDataBytes + 1},
      {.type = FrameType::Get, .length = 1},
      {.type = FrameType::Fill, .length = 1},
      {.type = FrameType::Object, .length = kObjectBytes - 1},
      {.type = FrameType::Object, .length = kObjectBytes + 1},
      {.type = static_cast<FrameType>(4), .length = 0},
  };
  for (const FrameHead& head : wrong) {
    FrameScanner scanner;
    const Result<> taken = scanner.take(bytes_of(head), [](const Frame&) {});
    ASSERT_FALSE(taken) << head.length;
    EXPECT_EQ(taken.error().kind, ErrorKind::Malformed);
  }
}

}  // namespace
}  // namespace chokepoint::probe::latency
