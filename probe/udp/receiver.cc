#include "probe/udp/receiver.h"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>

#include "probe/udp/data_socket.h"

namespace chokepoint::probe::udp {
namespace {

void publish(const FlowMeter& meter, ReceiveProgress& progress) {
  progress.packets.store(meter.sequence().counts().received, std::memory_order_relaxed);
  progress.bytes.store(meter.bytes(), std::memory_order_relaxed);
  progress.missing.store(meter.sequence().missing(), std::memory_order_relaxed);
}

class EndDetector {
 public:
  explicit EndDetector(const ReceiveEnd& end) : end_(end) {}

  bool reached(const FlowMeter& meter, std::int64_t now_ns) {
    if (end_.stop.load(std::memory_order_relaxed)) {
      return true;
    }
    const std::int64_t expected = end_.expected.load(std::memory_order_relaxed);
    if (expected < 0) {
      return false;
    }
    reported_ns_ = reported_ns_ == 0 ? now_ns : reported_ns_;
    const std::int64_t quiet_since = std::max(reported_ns_, meter.last_ns());
    return meter.sequence().counts().received >= static_cast<std::uint64_t>(expected) ||
           now_ns - quiet_since > end_.grace.count() || now_ns - reported_ns_ > end_.most.count();
  }

 private:
  const ReceiveEnd& end_;
  std::int64_t reported_ns_ = 0;
};

}  // namespace

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
  // ECONNREFUSED is an ICMP message about a packet that was sent, of no interest to a receiver.
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
      arrival.queue_drops = content_of<std::uint32_t>(*note);
    } else if (note->cmsg_level == SOL_UDP && note->cmsg_type == UDP_GRO) {
      const int segment = content_of<int>(*note);
      arrival.segment_bytes = segment > 0 ? static_cast<std::size_t>(segment) : 0;
    }
  }
  return arrival;
}

Result<> receive_stream(Inbox& inbox, FlowMeter& meter, const ReceiveEnd& end,
                        ReceiveProgress& progress) {
  EndDetector ending(end);
  meter.begin(queue_drops(inbox.descriptor()).value_or(0));
  do {
    TRY(const std::size_t messages, inbox.receive());
    for (std::size_t i = 0; i < messages; ++i) {
      meter.add(inbox.message(i));
    }
    publish(meter, progress);
  } while (!ending.reached(meter, inbox.now_ns()));
  meter.finish(queue_drops(inbox.descriptor()).value_or(0));
  return {};
}

}  // namespace chokepoint::probe::udp
