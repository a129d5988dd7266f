// Packets from one host to one queue pair of another, and what a tracker makes of them. Each is
// built as bytes from the Ethernet header to the ICRC and read by the decoder, so that the tracker
// gets what it gets in a capture.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "capture/packet/decoder.h"
#include "capture/roce/tracker.h"
#include "tests/capture/packet/decoded.h"
#include "tests/fakes/packets.h"

namespace chokepoint::capture::roce {

inline constexpr std::uint32_t kMtu = 1'024;
inline constexpr std::uint32_t kMask = 0xffffff;

enum Opcode : std::uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendOnly = 0x04,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteOnly = 0x0a,
  kReadRequest = 0x0c,
  kReadFirst = 0x0d,
  kReadMiddle = 0x0e,
  kReadLast = 0x0f,
  kReadOnly = 0x10,
  kAck = 0x11,
  kAtomicAck = 0x12,
  kCompareSwap = 0x13,
  kFetchAdd = 0x14,
  kDatagramSendOnly = 0x64,
  kCongestion = 0x81,
};

inline bool is_answer(std::uint8_t opcode) {
  const int code = opcode & 0x1f;
  return code >= kReadFirst && code <= kAtomicAck;
}

// RDETH and DETH, DETH, or XRCETH.
inline fakes::Bytes service_headers(std::uint8_t opcode) {
  constexpr std::array<std::uint8_t, 8> kOfRequests = {0, 0, 4 + 8, 8, 0, 4};
  constexpr std::array<std::uint8_t, 8> kOfAnswers = {0, 0, 4, 8, 0, 0};
  return fakes::Bytes((is_answer(opcode) ? kOfAnswers : kOfRequests).at(opcode >> 5), 0xff);
}

// What the headers behind the base header say, where the opcode has them.
struct Extended {
  std::uint32_t dma_bytes = 0;
  std::uint8_t syndrome = 0;
};

inline fakes::Bytes code_headers(std::uint8_t opcode, const Extended& fields) {
  using fakes::operator+;
  const std::uint32_t length = fields.dma_bytes;
  const fakes::Bytes reth =
      fakes::Bytes(12, 0xff) +
      fakes::Bytes{static_cast<std::uint8_t>(length >> 24), static_cast<std::uint8_t>(length >> 16),
                   static_cast<std::uint8_t>(length >> 8), static_cast<std::uint8_t>(length)};
  const fakes::Bytes aeth = {fields.syndrome, 0, 0, 1};
  const fakes::Bytes word(4, 0xff);  // ImmDt, IETH
  switch (opcode & 0x1f) {
    case 0x03:
    case 0x05:
    case 0x09:
    case 0x16:
    case 0x17:
      return word;
    case kWriteFirst:
    case kWriteOnly:
    case kReadRequest:
      return reth;
    case 0x0b:
      return reth + word;
    case kReadFirst:
    case kReadLast:
    case kReadOnly:
    case kAck:
      return aeth;
    case kAtomicAck:
      return aeth + fakes::Bytes(8, 0xff);
    case kCompareSwap:
    case kFetchAdd:
      return fakes::Bytes(28, 0xff);
    default:
      return {};
  }
}

class Sender {
 public:
  explicit Sender(std::uint32_t queue_pair = 17, std::size_t most = 100)
      : tracker({.queue_pairs = most}), queue_pair_(queue_pair) {}

  // Message data is padded to a multiple of four, and no byte of it looks like a header's. The
  // packet's payload is kept until the next one is made.
  packet::Packet made(std::uint8_t opcode, std::uint32_t psn, std::uint32_t data = 0,
                      const Extended& fields = {}) {
    constexpr std::size_t kCongestionBytes = 16;
    const auto pad = static_cast<std::uint8_t>((4 - data % 4) % 4);
    ++now;
    fakes::FrameBuilder builder;
    builder.ethernet()
        .ipv4({.id = static_cast<std::uint16_t>(now)})
        .udp(
            {.source_port = static_cast<std::uint16_t>(50'000 + now % 7), .destination_port = 4791})
        .bth({.opcode = opcode, .pad = pad, .queue_pair = queue_pair_, .sequence = psn & kMask});
    if (opcode == kCongestion) {
      builder.bytes(fakes::Bytes(kCongestionBytes));
    } else {
      builder.bytes(service_headers(opcode)).bytes(code_headers(opcode, fields));
      builder.bytes(fakes::Bytes(data, 0xff)).bytes(fakes::Bytes(pad));
    }
    frame_ = builder.bytes(fakes::Bytes(4, 0xcc)).build();
    packet::Frame frame = fakes::whole(frame_);
    frame.time_ns = now;
    const packet::Packet packet = packet::decoded(decoder_, frame);
    EXPECT_EQ(packet.kind, packet::Kind::Roce) << int{opcode};
    return packet;
  }

  void send(std::uint8_t opcode, std::uint32_t psn, std::uint32_t data = 0) {
    tracker.take(made(opcode, psn, data));
  }

  void read(std::uint32_t psn, std::uint32_t bytes) {
    tracker.take(made(kReadRequest, psn, 0, {.dma_bytes = bytes}));
  }

  void acknowledge(std::uint32_t psn, std::uint8_t syndrome) {
    tracker.take(made(kAck, psn, 0, {.syndrome = syndrome}));
  }

  std::vector<QueuePairFacts> all() const {
    std::vector<QueuePairFacts> all;
    tracker.visit([&](const QueuePairFacts& each) { all.push_back(each); });
    return all;
  }
  QueuePairFacts facts() const { return all().back(); }

  Tracker tracker;
  std::int64_t now = 0;

 private:
  std::uint32_t queue_pair_;
  packet::Decoder decoder_;
  fakes::Bytes frame_;
};

}  // namespace chokepoint::capture::roce
