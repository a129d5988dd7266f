#include "capture/observer/gloo_watch.h"

#include <gmock/gmock.h>

#include <cstring>

namespace chokepoint::capture::observer {
namespace {

// An all-reduce's buffer of 100 bytes, as the first segment of a stream shows it.
struct Segment {
  Segment() {
    const std::array<std::uint64_t, 6> header{148, 1, std::uint64_t{4} << 56U, 0, 100, 0};
    std::memcpy(bytes.data(), header.data(), sizeof header);
    packet.time_ns = 1'000;
    packet.kind = packet::Kind::Tcp;
    packet.payload = bytes.data();
    packet.payload_bytes = 148;
    packet.captured_payload_bytes = 48;
    packet.ends.source_port = 1;
    packet.ends.destination_port = 2;
  }

  std::array<std::uint8_t, 48> bytes{};
  packet::Packet packet{};
  flow::Seen seen{.slot = 5, .is_flow = true};
};

TEST(GlooWatch, FollowsAFlowThatBeginsAsGloosDo) {
  GlooLedger ledger;
  GlooWatch watch(ledger);
  const Segment segment;
  watch.take(segment.packet, segment.seen);
  watch.finish();
  ledger.finish();
  EXPECT_EQ(ledger.connections(), 1U);
  EXPECT_EQ(ledger.messages(), 1U);
  ASSERT_EQ(ledger.sums().size(), 1U);
  EXPECT_EQ(ledger.sums()[0]->kind, gloo::Kind::AllReduce);
  EXPECT_EQ(ledger.sums()[0]->sent_bytes, 100U);
}

TEST(GlooWatch, LeavesOtherFlowsAlone) {
  GlooLedger ledger;
  GlooWatch watch(ledger);
  Segment segment;
  segment.bytes.fill('x');
  for (int i = 0; i < 10'000; ++i) {
    watch.take(segment.packet, segment.seen);
  }
  EXPECT_EQ(ledger.connections(), 0U);
}

TEST(GlooWatch, FindsTheHeaderBehindTheRestOfALargeMessage) {
  GlooLedger ledger;
  GlooWatch watch(ledger);
  Segment rest;
  rest.bytes.fill(0);
  Segment header;
  for (int i = 0; i < 100'000; ++i) {
    watch.take(rest.packet, rest.seen);
    rest.seen.offset += rest.packet.payload_bytes;
  }
  header.seen.offset = rest.seen.offset;
  watch.take(header.packet, header.seen);
  EXPECT_EQ(ledger.connections(), 1U);
  EXPECT_EQ(ledger.messages(), 1U);
}

TEST(GlooWatch, AnotherFlowInTheSameSlotIsAnotherConnection) {
  GlooLedger ledger;
  GlooWatch watch(ledger);
  Segment segment;
  watch.take(segment.packet, segment.seen);
  segment.seen.generation = 1;
  watch.take(segment.packet, segment.seen);
  EXPECT_EQ(ledger.connections(), 2U);
}

TEST(GlooWatch, WhatWasSentBeforeTheCaptureCameInIsNoStream) {
  GlooLedger ledger;
  GlooWatch watch(ledger);
  Segment segment;
  segment.seen.offset = -148;
  watch.take(segment.packet, segment.seen);
  EXPECT_EQ(ledger.connections(), 0U);
}

TEST(GlooLedger, TellsAConnectionFromTheEndThatIsHere) {
  const Segment segment;
  packet::Ends ends = segment.packet.ends;
  ends.destination.words = {1, 2};
  GlooLedger ledger({ends.destination});
  EXPECT_EQ(ledger.connect(ends).sending, 1);
  ends.source.words = {1, 2};
  EXPECT_EQ(ledger.connect(ends).sending, 0);
}

}  // namespace
}  // namespace chokepoint::capture::observer
