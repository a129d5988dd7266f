#include "probe/path/udp_prober.h"

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/net/headers.h"
#include "base/net/socket.h"
#include "base/sys/clock.h"

namespace chokepoint::probe::path {
namespace {

Unreachable reason_v4(std::uint8_t code) {
  switch (code) {
    case ICMP_NET_UNREACH:
    case ICMP_NET_UNKNOWN:
    case ICMP_NET_UNR_TOS:
      return Unreachable::Network;
    case ICMP_HOST_UNREACH:
    case ICMP_HOST_UNKNOWN:
    case ICMP_HOST_UNR_TOS:
      return Unreachable::Host;
    case ICMP_PROT_UNREACH:
      return Unreachable::ItsProtocol;
    case ICMP_PORT_UNREACH:
      return Unreachable::Port;
    case ICMP_FRAG_NEEDED:
      return Unreachable::TooBig;
    case ICMP_NET_ANO:
    case ICMP_HOST_ANO:
    case ICMP_PKT_FILTERED:
      return Unreachable::Prohibited;
    default:
      return Unreachable::Other;
  }
}

Unreachable reason_v6(std::uint8_t code) {
  constexpr std::uint8_t kPolicyFailed = 5;
  constexpr std::uint8_t kRejectRoute = 6;
  switch (code) {
    case ICMP6_DST_UNREACH_NOROUTE:
    case kRejectRoute:
      return Unreachable::Network;
    case ICMP6_DST_UNREACH_ADDR:
      return Unreachable::Host;
    case ICMP6_DST_UNREACH_NOPORT:
      return Unreachable::Port;
    case ICMP6_DST_UNREACH_ADMIN:
    case kPolicyFailed:
      return Unreachable::Prohibited;
    default:
      return Unreachable::Other;
  }
}

IcmpMeaning meaning_of_reason(Unreachable reason) {
  if (reason == Unreachable::Port) {
    return {.kind = ReplyKind::Reached};
  }
  if (reason == Unreachable::TooBig) {
    return {.kind = ReplyKind::TooBig, .reason = reason};
  }
  return {.kind = ReplyKind::Unreachable, .reason = reason};
}

std::optional<net::Address> offender_of(const sock_extended_err& error) {
  sockaddr_storage storage{};
  const sockaddr* offender = SO_EE_OFFENDER(&error);
  const bool four = offender->sa_family == AF_INET;
  if (!four && offender->sa_family != AF_INET6) {
    return std::nullopt;
  }
  std::memcpy(&storage, offender, four ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
  const Result<net::Endpoint> endpoint = net::Endpoint::from_socket(storage);
  return endpoint ? std::optional(endpoint->address) : std::nullopt;
}

void read_error(const cmsghdr& control, net::Family family, QueuedError& into) {
  alignas(sock_extended_err) std::array<std::byte, 64> raw{};
  const std::size_t length = std::min(raw.size(), control.cmsg_len - CMSG_LEN(0));
  std::memcpy(raw.data(), CMSG_DATA(&control), length);
  const auto& error = *reinterpret_cast<const sock_extended_err*>(raw.data());
  into.local = error.ee_origin == SO_EE_ORIGIN_LOCAL;
  into.meaning = into.local ? IcmpMeaning{} : meaning_of(family, error.ee_type, error.ee_code);
  if (error.ee_errno == EMSGSIZE) {
    into.meaning = {.kind = ReplyKind::TooBig, .reason = Unreachable::TooBig};
    into.mtu_bytes = error.ee_info;
  }
  if (!into.local) {
    into.from = offender_of(error);
  }
}

void read_control(const cmsghdr& control, net::Family family, QueuedError& into) {
  const bool about_error =
      (control.cmsg_level == IPPROTO_IP && control.cmsg_type == IP_RECVERR) ||
      (control.cmsg_level == IPPROTO_IPV6 && control.cmsg_type == IPV6_RECVERR);
  if (about_error) {
    read_error(control, family, into);
  } else if (control.cmsg_level == SOL_SOCKET && control.cmsg_type == SCM_TIMESTAMPNS) {
    timespec at{};
    std::memcpy(&at, CMSG_DATA(&control), sizeof(at));
    into.wall_ns = sys::ns_of(at);
  }
}

constexpr std::uint32_t kProbe = 0x636b7070;  // "ckpp"
constexpr std::uint32_t kEcho = 0x636b7065;   // "ckpe"
constexpr std::size_t kNonceAt = 4;
constexpr std::size_t kSequenceAt = 8;

void put(std::span<std::byte> into, std::size_t at, std::uint32_t value) {
  const std::uint32_t wire = htonl(value);
  std::memcpy(into.data() + at, &wire, sizeof(wire));
}

std::uint32_t get(std::span<const std::byte> from, std::size_t at) {
  std::uint32_t wire = 0;
  std::memcpy(&wire, from.data() + at, sizeof(wire));
  return ntohl(wire);
}

constexpr std::uint32_t kNoSequence = ~std::uint32_t{0};
constexpr int kMaxAttempts = 8;

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

// A pending error from an earlier probe's ICMP message; the call that returned it has cleared it.
bool left_by_an_earlier_probe(int code) {
  return code == ECONNREFUSED || code == EHOSTUNREACH || code == ENETUNREACH || code == EMSGSIZE ||
         code == ENOPROTOOPT || code == EPROTO || code == EACCES || code == EOPNOTSUPP ||
         code == EHOSTDOWN || code == ENONET;
}

}  // namespace

IcmpMeaning meaning_of(net::Family family, std::uint8_t type, std::uint8_t code) {
  if (family == net::Family::Ipv4) {
    if (type == ICMP_TIME_EXCEEDED) {
      return {.kind = ReplyKind::Expired};
    }
    return meaning_of_reason(type == ICMP_DEST_UNREACH ? reason_v4(code) : Unreachable::Other);
  }
  if (type == ICMP6_TIME_EXCEEDED) {
    return {.kind = ReplyKind::Expired};
  }
  if (type == ICMP6_PACKET_TOO_BIG) {
    return meaning_of_reason(Unreachable::TooBig);
  }
  if (type == ICMP6_PARAM_PROB && code == ICMP6_PARAMPROB_NEXTHEADER) {
    return meaning_of_reason(Unreachable::ItsProtocol);
  }
  return meaning_of_reason(type == ICMP6_DST_UNREACH ? reason_v6(code) : Unreachable::Other);
}

Result<> enable_error_queue(int fd, net::Family family) {
  const int on = 1;
  const bool four = family == net::Family::Ipv4;
  if (setsockopt(fd, four ? IPPROTO_IP : IPPROTO_IPV6, four ? IP_RECVERR : IPV6_RECVERR, &on,
                 sizeof(on)) < 0 ||
      setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)) < 0) {
    return fail(from_errno(errno, "prepare", "error queue of a socket"));
  }
  return {};
}

std::optional<QueuedError> next_error(int fd, net::Family family) {
  QueuedError found;
  alignas(cmsghdr) std::array<std::byte, 512> control{};
  iovec into{.iov_base = found.quote.data(), .iov_len = found.quote.size()};
  msghdr message{};
  message.msg_iov = &into;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do {
    got = recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    return std::nullopt;
  }
  found.quoted = static_cast<std::size_t>(got);
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    read_control(*part, family, found);
  }
  return found;
}

void write_stamp(std::span<std::byte> into, const Stamp& stamp) {
  put(into, 0, stamp.kind == StampKind::Probe ? kProbe : kEcho);
  put(into, kNonceAt, stamp.nonce);
  put(into, kSequenceAt, stamp.sequence);
}

std::optional<Stamp> read_stamp(std::span<const std::byte> from) {
  if (from.size() < kStampBytes) {
    return std::nullopt;
  }
  const std::uint32_t magic = get(from, 0);
  if (magic != kProbe && magic != kEcho) {
    return std::nullopt;
  }
  return Stamp{.kind = magic == kProbe ? StampKind::Probe : StampKind::Echo,
               .nonce = get(from, kNonceAt),
               .sequence = get(from, kSequenceAt)};
}

std::int64_t monotonic_of(std::optional<std::int64_t> wall_ns, const sys::Clock& clock) {
  constexpr std::int64_t kMaxAgeNs = 5'000'000'000;
  const std::int64_t now_ns = clock.monotonic_ns();
  if (!wall_ns) {
    return now_ns;
  }
  const std::int64_t age_ns = clock.wall_ns() - *wall_ns;
  return age_ns < 0 || age_ns > kMaxAgeNs ? now_ns : now_ns - age_ns;
}

net::Endpoint Origin::local(net::Family family) const {
  return {.address = source.value_or(family == net::Family::Ipv4 ? net::Address::v4({})
                                                                 : net::Address::v6({}, 0))};
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
  TRY(sys::Descriptor socket,
      net::bind_udp(origin.local(target.address.family()), {.interface = origin.interface}));
  TRY(net::connect_udp(socket.get(), target));
  TRY(UdpProber prober, adopt(std::move(socket), origin.interrupt, clock));
  prober.set_packet_bytes(packet_bytes);
  return prober;
}

Result<UdpProber> UdpProber::adopt(sys::Descriptor socket, int interrupt, const sys::Clock& clock) {
  TRY(const net::Endpoint source, net::local_endpoint(socket.get()));
  TRY(const net::Endpoint target, net::peer_endpoint(socket.get()));
  TRY(enable_error_queue(socket.get(), target.address.family()));
  TRY(set_probing(socket.get(), target.address.family()));
  UdpProber prober(std::move(socket), target, source, interrupt, clock);
  prober.set_packet_bytes(kSmallPacketBytes);
  return prober;
}

void UdpProber::set_packet_bytes(int packet_bytes) {
  const int payload = packet_bytes - net::udp_overhead_bytes(target_.address.family());
  datagram_.assign(std::max(static_cast<std::size_t>(std::max(payload, 0)), kStampBytes),
                   std::byte{});
}

Result<int> UdpProber::interface_mtu_bytes() {
  const std::size_t before = datagram_.size();
  set_packet_bytes(net::kMaxIpPacketBytes);
  const Result<> sent = send({.sequence = kNoSequence, .ttl = 1});
  datagram_.resize(before);
  std::erase_if(pending_, [](const Reply& reply) { return reply.sequence == kNoSequence; });
  if (!sent) {
    return std::unexpected(sent.error());
  }
  // Only loopback sends the largest packet.
  return interface_mtu_ ? static_cast<int>(*interface_mtu_) : net::kMaxIpPacketBytes;
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
  for (int i = 0; i < kMaxAttempts && left_by_an_earlier_probe(attempt(datagram, std::nullopt));
       ++i) {
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

Result<> UdpProber::send(const ProbePacket& packet) {
  write_stamp(datagram_, {.nonce = nonce_, .sequence = packet.sequence});
  int code = 0;
  for (int i = 0; i < kMaxAttempts; ++i) {
    code = attempt(datagram_, packet.ttl);
    if (code == 0 || code == EAGAIN || code == ENOBUFS) {
      return {};
    }
    if (!left_by_an_earlier_probe(code) && code != EINTR) {
      break;
    }
    take_errors(pending_);
  }
  if (code == EMSGSIZE) {
    pending_.push_back(too_big_here(packet.sequence));
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
    // A datagram too large for the interface: send() has reported it.
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
    // Other errors come from ICMP messages, which are in the error queue.
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
    const Result<> ready = net::wait_for(socket_.get(), POLLIN, net::Deadline::of(wait, interrupt_),
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
