// Whatever a capture holds, it costs bounded memory and time that grows with its length alone.
#include <gtest/gtest.h>

#include "tests/capture/flow/conversation.h"

namespace chokepoint::capture::flow {
namespace {

TEST(Bounds, AMillionFlowsAreFoldedAndNonePacketIsLost) {
  Engine engine({.flows = 1'000});
  Conversation talk;
  std::uint64_t told = 0;
  engine.on_fold(
      [&told](std::uint32_t, const FlowFacts& facts) { told += facts.directions[0].packets; });
  constexpr std::uint32_t kFlows = 1'000'000;
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    packet::Packet packet = talk.data_packet(0, 100);
    packet.ends.source.words[1] = i;
    packet.time_ns += i;
    engine.take(packet);
  }
  EXPECT_EQ(engine.flows(), 1'000U);
  EXPECT_EQ(engine.remainder().flows, kFlows - 1'000);
  EXPECT_EQ(engine.remainder().packets, kFlows - 1'000);
  EXPECT_EQ(told, kFlows - 1'000);
}

TEST(Bounds, ALargeFlowOutlivesSmallOnesThatAreAsIdle) {
  Conversation talk({.flows = 100});
  talk.handshake();
  talk.data(0);
  talk.ack(kFull);
  const packet::Packet packet = talk.data_packet(kFull, 0);
  for (std::uint32_t i = 0; i < 99; ++i) {
    packet::Packet other = packet;
    other.ends.source.words[1] = 1'000 + i;
    talk.take(other);
  }
  packet::Packet last = packet;
  last.ends.source.words[1] = 5'000;
  talk.take(last);
  bool is_there = false;
  talk.engine.visit([&is_there](std::uint32_t, const FlowFacts& facts) {
    is_there |= facts.directions[0].payload_bytes == kFull;
  });
  EXPECT_TRUE(is_there);
  EXPECT_EQ(talk.engine.remainder().flows, 1U);
}

TEST(Bounds, DetailsHaveABudget) {
  Conversation talk({.flows = 10'000, .detail_bytes = 100'000});
  for (std::uint16_t port = 1; port <= 2'000; ++port) {
    talk.client.port = port;
    talk.handshake();
    for (std::uint32_t i = 0; i < 10; ++i) {
      talk.data(i * kFull);
      talk.ack((i + 1) * kFull);
    }
  }
  EXPECT_LT(talk.engine.flows(), 200U);
  EXPECT_EQ(talk.engine.flows() + talk.engine.remainder().flows, 2'000U);
}

TEST(Bounds, ReusedSlotsAreToldApart) {
  Conversation talk({.flows = 1});
  const Seen first = talk.data(0);
  talk.client.port = 2;
  const Seen second = talk.data(0);
  EXPECT_EQ(first.slot, second.slot);
  EXPECT_NE(first.generation, second.generation);
}

TEST(Bounds, EndlessSackBlocksAndHolesCostAFixedEffort) {
  Conversation talk;
  talk.handshake();
  constexpr std::uint32_t kPackets = 200'000;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    talk.data(2 * i * 10, 10);
    talk.ack(0, {{2 * i * 10, 2 * i * 10 + 5}, {0, 1'000'000'000}, {7, 3}});
  }
  EXPECT_EQ(talk.sent().packets, kPackets + 2);
  EXPECT_EQ(talk.answered().sack_acks, kPackets);
}

TEST(Bounds, OverlappingSegmentsCostAFixedEffort) {
  Conversation talk;
  talk.handshake();
  constexpr std::uint32_t kPackets = 300'000;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    talk.data(i % 7 * 100, 60'000 + i % 1'000);
  }
  EXPECT_LE(talk.sent().unique_bytes, 61'600U);
  EXPECT_GT(talk.sent().retransmitted_bytes, std::uint64_t{kPackets} * 50'000);
}

TEST(Bounds, TheCourseIsFoldedAndItsSumsStay) {
  Conversation talk;
  talk.handshake();
  Seen seen;
  constexpr std::uint32_t kBins = 20'000;
  for (std::uint32_t i = 0; i < kBins; ++i) {
    talk.wait_us(10'000);
    seen = talk.data(i * 100, 100);
    talk.ack((i + 1) * 100);
  }
  const std::vector<Bin> course = talk.engine.bins(seen.slot, 0);
  EXPECT_LE(course.size(), Series::kMaxBins);
  std::uint64_t payload = 0;
  std::int64_t end = 0;
  for (const Bin& bin : course) {
    EXPECT_GE(bin.start_ns, end);
    end = bin.end_ns();
    payload += bin.payload_bytes;
  }
  EXPECT_EQ(payload, kBins * 100U);
  EXPECT_EQ(course.back().width_ns, Series::kWidthNs);
  EXPECT_GT(course.front().width_ns, Series::kWidthNs);
}

TEST(Bounds, TheCourseIsHandedOutOnce) {
  Conversation talk;
  talk.handshake();
  std::uint64_t payload = 0;
  for (std::uint32_t i = 0; i < 1'000; ++i) {
    talk.wait_us(7'000);
    talk.data(i * 100, 100);
    talk.ack((i + 1) * 100);
    if (i % 10 == 0) {
      talk.engine.drain(false, [&payload](std::uint32_t, std::uint8_t, const Bin& bin) {
        payload += bin.payload_bytes;
      });
    }
  }
  EXPECT_LT(payload, 100'000U);
  talk.engine.drain(true, [&payload](std::uint32_t, std::uint8_t, const Bin& bin) {
    payload += bin.payload_bytes;
  });
  EXPECT_EQ(payload, 100'000U);
}

}  // namespace
}  // namespace chokepoint::capture::flow
