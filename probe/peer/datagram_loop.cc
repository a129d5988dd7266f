#include "probe/peer/datagram_loop.h"

#include <algorithm>
#include <cerrno>

namespace chokepoint::probe::peer {
namespace {

constexpr std::size_t kMaxPackets = 64;
constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

}  // namespace

DatagramBatch::DatagramBatch(int fd, std::size_t packet_bytes)
    : fd_(fd), packet_bytes_(packet_bytes) {
  const std::size_t packets = std::clamp(kMaxBytes / packet_bytes, std::size_t{1}, kMaxPackets);
  buffer_.resize(packets * packet_bytes);
  for (std::size_t i = 0; i < buffer_.size(); ++i) {
    buffer_[i] = std::byte(' ' + i % 95);
  }
  pieces_.resize(packets);
  messages_.resize(packets);
  for (std::size_t i = 0; i < packets; ++i) {
    pieces_[i] = {.iov_base = buffer_.data() + i * packet_bytes, .iov_len = packet_bytes};
    messages_[i].msg_hdr.msg_iov = &pieces_[i];
    messages_[i].msg_hdr.msg_iovlen = 1;
  }
}

Result<std::uint32_t> DatagramBatch::send(std::uint32_t packets) {
  const int sent = sendmmsg(fd_, messages_.data(), std::min(packets, most()), MSG_NOSIGNAL);
  if (sent >= 0) {
    return static_cast<std::uint32_t>(sent);
  }
  // ECONNREFUSED is an ICMP message about an earlier packet; the next one may get through.
  if (errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ECONNREFUSED) {
    return 0;
  }
  return fail(from_errno(errno, "send UDP", "socket"));
}

}  // namespace chokepoint::probe::peer
