// Batches of packets on their way into a connected socket: built once, restamped for each batch,
// handed over in one system call. Where the kernel can (UDP_SEGMENT), a message holds many packets
// and goes through the stack as one, at most 64 KiB and kMostSegments of them; where it cannot, a
// message is a packet, and that is remembered. Does not own the socket. One thread.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/sys/error.h"
#include "probe/udp/packet.h"

namespace chokepoint::probe::udp {

class Outbox {
 public:
  // Linux before 6.9 takes no more in a message.
  static constexpr std::uint32_t kMostSegments = 64;

  Outbox(int fd, const PacketHead& first, std::size_t packet_bytes);

  // How many packets one hand-over takes.
  std::uint32_t most() const { return most_; }
  bool segmented() const { return segmented_; }

  // `packets` of them, numbered from `sequence`. How many the kernel took: perhaps fewer, none
  // where it has no room yet. What it took and threw away at once is in dropped().
  Result<std::uint32_t> send(std::uint64_t sequence, std::uint32_t packets, std::int64_t now_ns);
  std::uint64_t dropped() const { return dropped_; }
  // How long there was no room, because the own interface's queue was full.
  std::int64_t blocked_ns() const { return blocked_ns_; }

 private:
  std::byte* packet(std::uint32_t index) { return buffer_.data() + index * packet_bytes_; }
  std::size_t lay_out(std::uint32_t packets);
  std::uint32_t packets_in(std::size_t messages, std::uint32_t packets) const;
  Result<std::uint32_t> refused(int code, std::uint64_t sequence, std::uint32_t packets,
                                std::int64_t now_ns);
  void await_room();
  void stop_segmenting();

  int fd_;
  std::size_t packet_bytes_;
  std::uint32_t per_message_ = 1;
  std::uint32_t most_;
  bool segmented_;
  std::uint64_t dropped_ = 0;
  std::int64_t blocked_ns_ = 0;
  std::vector<std::byte> buffer_;
  std::vector<iovec> pieces_;
  std::vector<mmsghdr> messages_;
};

}  // namespace chokepoint::probe::udp
