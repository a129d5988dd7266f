#include "probe/path/error_queue.h"

#include <linux/errqueue.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace chokepoint::probe::path {
namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

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
      return Unreachable::Protocol;
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
    into.wall_ns = at.tv_sec * kNanosecondsPerSecond + at.tv_nsec;
  }
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
    return meaning_of_reason(Unreachable::Protocol);
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

}  // namespace chokepoint::probe::path
