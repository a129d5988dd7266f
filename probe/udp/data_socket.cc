#include "probe/udp/data_socket.h"

#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/udp.h>

#include <array>
#include <cerrno>

#include "base/net/headers.h"

namespace chokepoint::probe::udp {
namespace {

bool set(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof(value)) == 0;
}

std::optional<int> get(int fd, int level, int name) {
  int value = 0;
  socklen_t length = sizeof(value);
  return getsockopt(fd, level, name, &value, &length) == 0 ? std::optional(value) : std::nullopt;
}

bool is_v6(int fd) { return get(fd, SOL_SOCKET, SO_DOMAIN) == AF_INET6; }

}  // namespace

std::int64_t ask_for_room(int fd, int bytes) {
  if (!set(fd, SOL_SOCKET, SO_RCVBUFFORCE, bytes)) {
    set(fd, SOL_SOCKET, SO_RCVBUF, bytes);
  }
  return get(fd, SOL_SOCKET, SO_RCVBUF).value_or(0);
}

Result<> prepare_receiving(int fd) {
  if (!set(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1) || !set(fd, SOL_SOCKET, SO_RXQ_OVFL, 1)) {
    return fail(from_errno(errno, "prepare to receive", "UDP socket"));
  }
  // May fail: Linux has it since 5.0.
  set(fd, SOL_UDP, UDP_GRO, 1);
  return {};
}

Result<> prepare_sending(int fd) {
  const bool done =
      is_v6(fd) ? set(fd, IPPROTO_IPV6, IPV6_RECVERR, 1) : set(fd, IPPROTO_IP, IP_RECVERR, 1);
  if (!done) {
    return fail(from_errno(errno, "prepare to send", "UDP socket"));
  }
  return {};
}

bool cut_into(int fd, std::size_t bytes) {
  return set(fd, SOL_UDP, UDP_SEGMENT, static_cast<int>(bytes));
}

std::optional<std::uint32_t> queue_drops(int fd) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t length = sizeof(info);
  if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info.data(), &length) < 0 ||
      length <= SK_MEMINFO_DROPS * sizeof(std::uint32_t)) {
    return std::nullopt;
  }
  return info[SK_MEMINFO_DROPS];
}

std::optional<std::size_t> largest_payload(int fd) {
  const bool v6 = is_v6(fd);
  const std::optional<int> mtu = v6 ? get(fd, IPPROTO_IPV6, IPV6_MTU) : get(fd, IPPROTO_IP, IP_MTU);
  const int headers = net::udp_overhead_bytes(v6 ? net::Family::Ipv6 : net::Family::Ipv4);
  if (!mtu || *mtu <= headers) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(*mtu - headers);
}

}  // namespace chokepoint::probe::udp
