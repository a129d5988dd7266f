#include "probe/path/udp_prober.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/net/socket.h"
#include "probe/path/arrival.h"

namespace chokepoint::probe::path {
namespace {

constexpr std::uint32_t kNoSequence = ~std::uint32_t{0};
constexpr int kAttempts = 8;
constexpr int kUdpHeader = 8;
constexpr int kIpv4Header = 20;
constexpr int kIpv6Header = 40;

net::Address any_address(net::Family family) {
  return family == net::Family::Ipv4 ? net::Address::v4({}) : net::Address::v6({}, 0);
}

std::uint32_t random_nonce() {
  std::uint32_t nonce = 0;
  static_cast<void>(getrandom(&nonce, sizeof(nonce), 0));
  return nonce;
}

Result<> set_probing(int fd, net::Family family) {
  static_assert(IP_PMTUDISC_PROBE == IPV6_PMTUDISC_PROBE);
  const bool four = family == net::Family::Ipv4;
  const int value = IP_PMTUDISC_PROBE;
  if (setsockopt(fd, four ? IPPROTO_IP : IPPROTO_IPV6, four ? IP_MTU_DISCOVER : IPV6_MTU_DISCOVER,
                 &value, sizeof(value)) < 0) {
    return fail(from_errno(errno, "set", "don't fragment"));
  }
  return {};
}

// What an earlier probe's ICMP error left on the socket; the next call clears it.
bool left_by_an_earlier_probe(int code) {
  return code == ECONNREFUSED || code == EHOSTUNREACH || code == ENETUNREACH || code == EMSGSIZE ||
         code == ENOPROTOOPT || code == EPROTO || code == EACCES || code == EOPNOTSUPP ||
         code == EHOSTDOWN || code == ENONET;
}

}  // namespace

int udp_overhead_bytes(net::Family family) {
  return kUdpHeader + (family == net::Family::Ipv4 ? kIpv4Header : kIpv6Header);
}

UdpProber::UdpProber(sys::Descriptor socket, const net::Endpoint& target,
                     const net::Endpoint& source, int interrupt, const sys::Clock& clock)
    : socket_(std::move(socket)),
      target_(target),
      source_(source),
      interrupt_(interrupt),
      clock_(&clock),
      nonce_(random_nonce()) {}

Result<UdpProber> UdpProber::open(const net::Endpoint& target, const Origin& origin,
                                  int packet_bytes, const sys::Clock& clock) {
  const net::Endpoint local{.address =
                                origin.source.value_or(any_address(target.address.family()))};
  Result<sys::Descriptor> socket = net::bind_udp(local, {.interface = origin.interface});
  if (!socket) {
    return std::unexpected(socket.error());
  }
  TRY(net::connect_udp(socket->get(), target));
  Result<UdpProber> prober = adopt(std::move(*socket), origin.interrupt, clock);
  if (prober) {
    prober->set_packet_bytes(packet_bytes);
  }
  return prober;
}

Result<UdpProber> UdpProber::adopt(sys::Descriptor socket, int interrupt, const sys::Clock& clock) {
  const Result<net::Endpoint> source = net::local_endpoint(socket.get());
  const Result<net::Endpoint> target = net::peer_endpoint(socket.get());
  if (!source || !target) {
    return std::unexpected(source ? target.error() : source.error());
  }
  const net::Family family = target->address.family();
  Result<> done = enable_error_queue(socket.get(), family);
  done = done ? set_probing(socket.get(), family) : done;
  if (!done) {
    return std::unexpected(done.error());
  }
  UdpProber prober(std::move(socket), *target, *source, interrupt, clock);
  prober.set_packet_bytes(kSmallPacketBytes);
  return prober;
}

void UdpProber::set_packet_bytes(int packet_bytes) {
  const int payload = packet_bytes - udp_overhead_bytes(target_.address.family());
  datagram_.assign(std::max(static_cast<std::size_t>(std::max(payload, 0)), kStampBytes),
                   std::byte{});
}

Result<int> UdpProber::interface_mtu_bytes() {
  constexpr int kLargestPacket = 65535;
  const std::size_t before = datagram_.size();
  set_packet_bytes(kLargestPacket);
  const Result<> sent = send({.sequence = kNoSequence, .ttl = 1});
  datagram_.resize(before);
  std::erase_if(pending_, [](const Reply& reply) { return reply.sequence == kNoSequence; });
  if (!sent) {
    return std::unexpected(sent.error());
  }
  // Loopback alone takes the largest there is.
  return interface_mtu_ ? static_cast<int>(*interface_mtu_) : kLargestPacket;
}

int UdpProber::attempt(std::span<const std::byte> datagram, std::optional<int> ttl) const {
  const bool four = target_.address.family() == net::Family::Ipv4;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  // sendmsg() does not write to it.
  iovec from{.iov_base = const_cast<std::byte*>(datagram.data()), .iov_len = datagram.size()};
  msghdr message{};
  message.msg_iov = &from;
  message.msg_iovlen = 1;
  if (ttl) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = four ? IPPROTO_IP : IPPROTO_IPV6;
    part->cmsg_type = four ? IP_TTL : IPV6_HOPLIMIT;
    part->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(part), &*ttl, sizeof(*ttl));
  }
  return sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? errno : 0;
}

void UdpProber::echo(const Stamp& stamp) const {
  std::array<std::byte, kStampBytes> datagram{};
  write_stamp(datagram,
              {.kind = StampKind::Echo, .nonce = stamp.nonce, .sequence = stamp.sequence});
  for (int i = 0; i < kAttempts && left_by_an_earlier_probe(attempt(datagram, std::nullopt)); ++i) {
  }
}

Reply UdpProber::too_big_here(std::uint32_t sequence) const {
  return {.sequence = sequence,
          .kind = ReplyKind::TooBig,
          .from = source_.address,
          .reason = Unreachable::TooBig,
          .mtu_bytes = interface_mtu_,
          .received_ns = clock_->monotonic_ns()};
}

Result<> UdpProber::send(const Shot& shot) {
  write_stamp(datagram_, {.nonce = nonce_, .sequence = shot.sequence});
  int code = 0;
  for (int i = 0; i < kAttempts; ++i) {
    code = attempt(datagram_, shot.ttl);
    if (code == 0 || code == EAGAIN || code == ENOBUFS) {
      return {};
    }
    if (!left_by_an_earlier_probe(code) && code != EINTR) {
      break;
    }
    take_errors(pending_);
  }
  if (code == EMSGSIZE) {
    pending_.push_back(too_big_here(shot.sequence));
    return {};
  }
  return fail(from_errno(code, "send", target_.text()));
}

std::optional<Reply> UdpProber::reply_of(const QueuedError& error) const {
  Reply reply{.kind = error.meaning.kind,
              .from = error.from,
              .reason = error.meaning.reason,
              .mtu_bytes = error.mtu_bytes,
              .received_ns = monotonic_of(error.wall_ns, *clock_)};
  if (error.quoted < kStampBytes) {
    return reply;
  }
  const std::optional<Stamp> stamp = read_stamp(error.quote_bytes());
  if (!stamp || stamp->nonce != nonce_ || stamp->kind != StampKind::Probe) {
    return std::nullopt;
  }
  reply.sequence = stamp->sequence;
  return reply;
}

void UdpProber::take_errors(std::vector<Reply>& replies) {
  while (const std::optional<QueuedError> error =
             next_error(socket_.get(), target_.address.family())) {
    // A datagram too large for the own interface: send() has told of it.
    if (error->local) {
      interface_mtu_ = error->mtu_bytes;
      continue;
    }
    if (const std::optional<Reply> reply = reply_of(*error)) {
      replies.push_back(*reply);
    }
  }
}

void UdpProber::take_datagrams(std::vector<Reply>& replies) const {
  std::array<std::byte, 64> datagram{};
  while (true) {
    const ssize_t got = recv(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) {
      return;
    }
    // Any other failure is an ICMP error's, of which the queue tells more.
    const std::size_t length = got < 0 ? 0 : static_cast<std::size_t>(got);
    const std::optional<Stamp> stamp = read_stamp({datagram.data(), length});
    if (stamp && stamp->nonce == nonce_) {
      replies.push_back({.sequence = stamp->sequence,
                         .kind = ReplyKind::Reached,
                         .from = target_.address,
                         .received_ns = clock_->monotonic_ns()});
    } else if (stamp && stamp->kind == StampKind::Probe) {
      echo(*stamp);
    }
  }
}

Result<std::vector<Reply>> UdpProber::collect(std::chrono::nanoseconds wait) {
  std::vector<Reply> replies = std::exchange(pending_, {});
  if (replies.empty()) {
    const Result<> ready = net::wait_for(socket_.get(), POLLIN, net::Patience::of(wait, interrupt_),
                                         "wait for", target_.text());
    if (!ready && ready.error().kind != ErrorKind::Timeout) {
      return std::unexpected(ready.error());
    }
  }
  take_errors(replies);
  take_datagrams(replies);
  return replies;
}

}  // namespace chokepoint::probe::path
