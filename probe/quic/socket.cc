#include "probe/quic/socket.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/net/socket.h"
#include "probe/udp/data_socket.h"

namespace chokepoint::probe::quic {
namespace {

constexpr int kSendBuffer = 4 << 20;
constexpr int kReceiveBuffer = 32 << 20;
constexpr unsigned kEcnBits = 3;  // of the traffic class
constexpr unsigned kEct0 = 2;
constexpr unsigned kCe = 3;

bool set_option(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

// Packets leave unfragmented and whatever the kernel believes of the path: the library looks for
// its MTU. Errors come as return values, not in a queue of their own that would wake poll().
bool prepare(int fd, bool is_v6) {
  if (is_v6) {
    return set_option(fd, IPPROTO_IPV6, IPV6_RECVERR, 0) &&
           set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE) &&
           set_option(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
  }
  return set_option(fd, IPPROTO_IP, IP_RECVERR, 0) &&
         set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE) &&
         set_option(fd, IPPROTO_IP, IP_RECVTOS, 1);
}

// The notes beside a message: its ECN bits, and the size of its segments.
class Notes {
 public:
  explicit Notes(msghdr& message) : message_(message) {
    message_.msg_control = bytes_.data();
    message_.msg_controllen = bytes_.size();
  }
  template <class T>
  void add(int level, int type, T value) {
    message_.msg_controllen = used_ + CMSG_SPACE(sizeof(value));
    auto* note = reinterpret_cast<cmsghdr*>(bytes_.data() + used_);
    note->cmsg_level = level;
    note->cmsg_type = type;
    note->cmsg_len = CMSG_LEN(sizeof(value));
    std::memcpy(CMSG_DATA(note), &value, sizeof(value));
    used_ += CMSG_SPACE(sizeof(value));
  }

 private:
  msghdr& message_;
  alignas(cmsghdr) std::array<char, 256> bytes_{};
  std::size_t used_ = 0;
};

template <class T>
T value_of(const cmsghdr& note) {
  T value{};
  std::memcpy(&value, CMSG_DATA(&note), sizeof(value));
  return value;
}

bool is_gone_for_now(int code) { return code == EAGAIN || code == EWOULDBLOCK || code == EINTR; }

// EIO: the interface cannot do checksums, without which the kernel does not segment.
bool is_about_segments(int code) { return code == EIO || code == EINVAL || code == EMSGSIZE; }

SocketAddress address_of(const net::Endpoint& endpoint) {
  SocketAddress address;
  address.length = endpoint.to_socket(address.bytes);
  return address;
}

}  // namespace

Ends ends_of(const net::Endpoint& local, const net::Endpoint& peer) {
  return {.local = address_of(local), .peer = address_of(peer), .peer_text = peer.text()};
}

Result<Socket> Socket::adopt(sys::Descriptor fd, bool segmentation) {
  TRY(const net::Endpoint peer, net::peer_endpoint(fd.get()));
  TRY(const net::Endpoint local, net::local_endpoint(fd.get()));
  const Ends ends = ends_of(local, peer);
  const bool is_v6 = local.address.family() == net::Family::Ipv6;
  if (!prepare(fd.get(), is_v6) ||
      (!set_option(fd.get(), SOL_UDP, UDP_GRO, segmentation ? 1 : 0) && !segmentation)) {
    return fail(from_errno(errno, "prepare", "UDP socket"));
  }
  // 'probe udp' has these switched on; here they are not read.
  set_option(fd.get(), SOL_SOCKET, SO_TIMESTAMPNS, 0);
  set_option(fd.get(), SOL_SOCKET, SO_RXQ_OVFL, 0);
  udp::ask_for_room(fd.get(), kReceiveBuffer);
  if (!set_option(fd.get(), SOL_SOCKET, SO_SNDBUFFORCE, kSendBuffer)) {
    set_option(fd.get(), SOL_SOCKET, SO_SNDBUF, kSendBuffer);
  }
  return Socket(std::move(fd), ends, is_v6, segmentation);
}

Socket::Socket(sys::Descriptor fd, const Ends& ends, bool is_v6, bool segmentation)
    : fd_(std::move(fd)),
      ends_(ends),
      is_v6_(is_v6),
      segmentation_(segmentation),
      outgoing_(kBufferBytes),
      incoming_(kBufferBytes) {}

// Errors of a path or a host that is not there: QUIC waits for it, and gives up by its own clock.
bool Socket::is_of_the_path(int code) {
  refused_ = refused_ || code == ECONNREFUSED;
  return code == ECONNREFUSED || code == EHOSTUNREACH || code == ENETUNREACH || code == ENETDOWN ||
         code == EPERM || code == ENOBUFS || code == EMSGSIZE;
}

std::span<std::byte> Socket::room() {
  return std::span(outgoing_).subspan(used_, std::min(kMaxPayload, outgoing_.size() - used_));
}

bool Socket::add(std::size_t bytes, unsigned ecn) {
  batch_.push_back({.bytes = bytes, .ecn = ecn});
  used_ += bytes;
  counts_.sent_ect0 += ecn == kEct0 ? 1 : 0;
  const Queued& first = batch_.front();
  return batch_.size() < kMaxPackets && bytes == first.bytes && ecn == first.ecn;
}

// Segments are of one size but for the last one, which may be shorter.
std::size_t Socket::run() const {
  const Queued& first = batch_.front();
  std::size_t count = 1;
  while (segmentation_ && count < batch_.size() && batch_[count].ecn == first.ecn &&
         batch_[count - 1].bytes == first.bytes && batch_[count].bytes <= first.bytes) {
    ++count;
  }
  return count;
}

Result<bool> Socket::flush() {
  while (!batch_.empty()) {
    TRY(const bool sent, send_run(run()));
    if (!sent) {
      return false;
    }
  }
  return true;
}

Result<bool> Socket::send_run(std::size_t count) {
  const Queued first = batch_.front();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += batch_[i].bytes;
  }
  iovec part{.iov_base = outgoing_.data(), .iov_len = bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  Notes notes(message);
  notes.add(is_v6_ ? IPPROTO_IPV6 : IPPROTO_IP, is_v6_ ? IPV6_TCLASS : IP_TOS,
            static_cast<int>(first.ecn));
  if (count > 1) {
    notes.add(SOL_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(first.bytes));
  }
  const int code = sendmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
  if (is_gone_for_now(code)) {
    return false;
  }
  if (count > 1 && is_about_segments(code)) {
    return send_first_alone();
  }
  if (code != 0 && !is_of_the_path(code)) {
    return fail(from_errno(code, "send to", ends_.peer_text));
  }
  ++counts_.sent_calls;
  counts_.sent_packets += count;
  counts_.refused_packets += code != 0 ? count : 0;
  drop(count);
  return true;
}

// The kernel has the same error for packets that it cannot segment and for those larger than the
// interface takes, such as path MTU discovery sends. It takes the first one alone unless that is
// too large.
Result<bool> Socket::send_first_alone() {
  const std::uint64_t refused = counts_.refused_packets;
  TRY(const bool sent, send_run(1));
  segmentation_ = segmentation_ && (!sent || counts_.refused_packets > refused);
  return sent;
}

void Socket::drop(std::size_t count) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    bytes += batch_[i].bytes;
  }
  batch_.erase(batch_.begin(), batch_.begin() + static_cast<std::ptrdiff_t>(count));
  std::memmove(outgoing_.data(), outgoing_.data() + bytes, used_ - bytes);
  used_ -= bytes;
}

Result<Socket::Arrived> Socket::receive_message() {
  iovec part{.iov_base = incoming_.data(), .iov_len = incoming_.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  const Notes notes(message);
  const ssize_t count = recvmsg(fd_.get(), &message, MSG_DONTWAIT);
  if (count < 0) {
    const int code = errno;
    return is_gone_for_now(code) || is_of_the_path(code)
               ? Result<Arrived>(Arrived{})
               : fail(from_errno(code, "receive from", ends_.peer_text));
  }
  Arrived arrived{.bytes = static_cast<std::size_t>(count),
                  .packet_bytes = std::max<std::size_t>(static_cast<std::size_t>(count), 1)};
  for (cmsghdr* note = CMSG_FIRSTHDR(&message); note != nullptr;
       note = CMSG_NXTHDR(&message, note)) {
    if (note->cmsg_level == SOL_UDP && note->cmsg_type == UDP_GRO) {
      arrived.packet_bytes = static_cast<std::size_t>(std::max(value_of<int>(*note), 1));
    } else if (note->cmsg_level == IPPROTO_IP && note->cmsg_type == IP_TOS) {
      arrived.ecn = value_of<std::uint8_t>(*note) & kEcnBits;
    } else if (note->cmsg_level == IPPROTO_IPV6 && note->cmsg_type == IPV6_TCLASS) {
      arrived.ecn = static_cast<unsigned>(value_of<int>(*note)) & kEcnBits;
    }
  }
  count_arrived(arrived);
  return arrived;
}

void Socket::count_arrived(const Arrived& arrived) {
  const std::uint64_t packets = (arrived.bytes + arrived.packet_bytes - 1) / arrived.packet_bytes;
  ++counts_.received_calls;
  counts_.received_packets += packets;
  counts_.received_ect0 += arrived.ecn == kEct0 ? packets : 0;
  counts_.received_ce += arrived.ecn == kCe ? packets : 0;
}

}  // namespace chokepoint::probe::quic
