#include "probe/udp/outbox.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "base/sys/clock.h"
#include "probe/udp/data_socket.h"

namespace chokepoint::probe::udp {
namespace {

constexpr std::size_t kMostMessageBytes = kMostPacketBytes;
constexpr std::size_t kMostBatchBytes = std::size_t{64} * 1024;
constexpr std::uint32_t kMostBatchPackets = 512;
constexpr std::uint32_t kMostSingles = 64;

// Bytes that no device on the way can shrink.
void fill_with_noise(std::vector<std::byte>& buffer) {
  std::uint32_t state = 0x9e3779b9;
  for (std::byte& byte : buffer) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    byte = static_cast<std::byte>(state & 0xff);
  }
}

std::uint32_t fitting(std::size_t room, std::size_t packet_bytes, std::uint32_t most) {
  return std::clamp(static_cast<std::uint32_t>(room / packet_bytes), 1U, most);
}

}  // namespace

Outbox::Outbox(int fd, const PacketHead& first, std::size_t packet_bytes)
    : fd_(fd), packet_bytes_(std::clamp(packet_bytes, kHeadBytes, kMostPacketBytes)) {
  segmented_ = cut_into(fd, packet_bytes_);
  per_message_ = segmented_ ? fitting(kMostMessageBytes, packet_bytes_, kMostSegments) : 1;
  most_ = fitting(kMostBatchBytes, packet_bytes_, segmented_ ? kMostBatchPackets : kMostSingles);
  buffer_.resize(most_ * packet_bytes_);
  fill_with_noise(buffer_);
  for (std::uint32_t i = 0; i < most_; ++i) {
    write_head(first, {packet(i), packet_bytes_});
  }
  pieces_.resize(most_);
  messages_.resize(most_);
}

void Outbox::await_room() {
  constexpr int kLongestMs = 20;
  const sys::SystemClock clock;
  const std::int64_t began = clock.monotonic_ns();
  pollfd room{fd_, POLLOUT, 0};
  poll(&room, 1, kLongestMs);
  blocked_ns_ += clock.monotonic_ns() - began;
}

void Outbox::stop_segmenting() {
  cut_into(fd_, 0);
  segmented_ = false;
  per_message_ = 1;
}

std::size_t Outbox::lay_out(std::uint32_t packets) {
  std::size_t messages = 0;
  for (std::uint32_t first = 0; first < packets; first += per_message_) {
    const std::uint32_t count = std::min(per_message_, packets - first);
    pieces_[messages] = {.iov_base = packet(first), .iov_len = count * packet_bytes_};
    messages_[messages] = {};
    messages_[messages].msg_hdr.msg_iov = &pieces_[messages];
    messages_[messages].msg_hdr.msg_iovlen = 1;
    ++messages;
  }
  return messages;
}

std::uint32_t Outbox::packets_in(std::size_t messages, std::uint32_t packets) const {
  return std::min(static_cast<std::uint32_t>(messages) * per_message_, packets);
}

Result<std::uint32_t> Outbox::send(std::uint64_t sequence, std::uint32_t packets,
                                   std::int64_t now_ns) {
  packets = std::min(packets, most_);
  for (std::uint32_t i = 0; i < packets; ++i) {
    restamp(packet(i), sequence + i, now_ns);
  }
  const std::size_t messages = lay_out(packets);
  const int taken =
      sendmmsg(fd_, messages_.data(), static_cast<unsigned>(messages), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (taken >= 0) {
    return packets_in(static_cast<std::size_t>(taken), packets);
  }
  return refused(errno, sequence, packets, now_ns);
}

Result<std::uint32_t> Outbox::refused(int code, std::uint64_t sequence, std::uint32_t packets,
                                      std::int64_t now_ns) {
  if (code == EAGAIN || code == EINTR) {
    await_room();
    return 0;
  }
  if (code == ENOBUFS) {
    const std::uint32_t gone = packets_in(1, packets);
    dropped_ += gone;
    return gone;
  }
  // A device without checksum offload, or a packet larger than its MTU: only one by one.
  if (segmented_ && (code == EIO || code == EINVAL || code == EMSGSIZE)) {
    stop_segmenting();
    return send(sequence, packets, now_ns);
  }
  return fail(from_errno(code, "send UDP", "packet"));
}

}  // namespace chokepoint::probe::udp
