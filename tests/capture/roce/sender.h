// Packets from one host to one queue pair of another, made by hand, and what a tracker makes of
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/roce/opcode.h"
#include "capture/roce/tracker.h"

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

class Sender {
 public:
  explicit Sender(std::uint32_t queue_pair = 17, std::size_t most = 100)
      : tracker({.queue_pairs = most}), queue_pair_(queue_pair) {}

  packet::Packet made(std::uint8_t opcode, std::uint32_t psn, std::uint32_t data = 0) {
    packet::Packet packet;
    packet.kind = packet::Kind::Roce;
    packet.time_ns = ++now;
    packet.ends.source.words = {0, 1};
    packet.ends.destination.words = {0, 2};
    packet.ends.source_port = static_cast<std::uint16_t>(50'000 + now % 7);
    packet.ends.destination_port = 4791;
    packet.roce.opcode = opcode;
    packet.roce.queue_pair = queue_pair_;
    packet.roce.sequence = psn & kMask;
    packet.payload_bytes =
        kBaseHeaderBytes + operation_of(opcode).extra_bytes + data + kTrailerBytes;
    packet.frame_bytes = 42 + packet.payload_bytes;
    return packet;
  }

  void send(std::uint8_t opcode, std::uint32_t psn, std::uint32_t data = 0) {
    tracker.take(made(opcode, psn, data));
  }

  void read(std::uint32_t psn, std::uint32_t bytes) {
    packet::Packet packet = made(kReadRequest, psn);
    packet.roce.has_reth = true;
    packet.roce.dma_bytes = bytes;
    tracker.take(packet);
  }

  void acknowledge(std::uint32_t psn, std::uint8_t syndrome) {
    packet::Packet packet = made(kAck, psn);
    packet.roce.has_aeth = true;
    packet.roce.syndrome = syndrome;
    tracker.take(packet);
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
};

}  // namespace chokepoint::capture::roce
