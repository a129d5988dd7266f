#include "probe/udp/inbox.h"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <cerrno>

#include "probe/udp/arrival_time.h"

namespace chokepoint::probe::udp {

Inbox::Inbox(int fd) : fd_(fd), buffer_(kMessages * kMessageBytes) {
  for (std::size_t i = 0; i < kMessages; ++i) {
    pieces_[i] = {.iov_base = buffer_.data() + i * kMessageBytes, .iov_len = kMessageBytes};
    messages_[i].msg_hdr.msg_iov = &pieces_[i];
    messages_[i].msg_hdr.msg_iovlen = 1;
    messages_[i].msg_hdr.msg_control = control_[i].data();
  }
}

Result<std::size_t> Inbox::receive() {
  for (mmsghdr& message : messages_) {
    message.msg_hdr.msg_controllen = kControlBytes;
  }
  const int got = recvmmsg(fd_, messages_.data(), kMessages, MSG_WAITFORONE, nullptr);
  const int code = errno;
  const BothClocks now = read_both(clock_);
  now_ns_ = now.monotonic_ns;
  wall_ahead_ns_ = now.wall_ahead_ns;
  if (got >= 0) {
    return static_cast<std::size_t>(got);
  }
  // Refused: an ICMP message about something that was sent, no matter to who receives.
  if (code == EAGAIN || code == EINTR || code == ECONNREFUSED) {
    return 0;
  }
  return fail(from_errno(code, "receive UDP", "socket"));
}

Arrival Inbox::message(std::size_t index) const {
  const mmsghdr& message = messages_[index];
  Arrival arrival{
      .bytes = {static_cast<const std::byte*>(pieces_[index].iov_base), message.msg_len},
      .arrived_ns = now_ns_};
  msghdr header = message.msg_hdr;
  for (cmsghdr* note = CMSG_FIRSTHDR(&header); note != nullptr; note = CMSG_NXTHDR(&header, note)) {
    if (const auto stamp = arrival_ns(*note, wall_ahead_ns_)) {
      arrival.arrived_ns = *stamp;
    } else if (note->cmsg_level == SOL_SOCKET && note->cmsg_type == SO_RXQ_OVFL) {
      arrival.queue_drops = note_content<std::uint32_t>(*note);
    } else if (note->cmsg_level == SOL_UDP && note->cmsg_type == UDP_GRO) {
      const int segment = note_content<int>(*note);
      arrival.segment_bytes = segment > 0 ? static_cast<std::size_t>(segment) : 0;
    }
  }
  return arrival;
}

}  // namespace chokepoint::probe::udp
