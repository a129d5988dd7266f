#include "base/net/socket_options.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace chokepoint::net {
namespace {

Result<> set_raw(int fd, int level, int name, const void* value, std::size_t size,
                 std::string_view what, std::string_view next_step) {
  if (setsockopt(fd, level, name, value, static_cast<socklen_t>(size)) < 0) {
    Error error = from_errno(errno, "set", what);
    error.next_step = next_step;
    return fail(std::move(error));
  }
  return {};
}

template <class T>
Result<> set(int fd, int level, int name, const T& value, std::string_view what,
             std::string_view next_step) {
  return set_raw(fd, level, name, &value, sizeof(value), what, next_step);
}

Result<> apply_congestion(const SocketOptions& options, int fd) {
  if (options.congestion.empty()) {
    return {};
  }
  Result<> done = set_raw(fd, IPPROTO_TCP, TCP_CONGESTION, options.congestion.data(),
                          options.congestion.size(), "congestion control " + options.congestion,
                          "'sysctl net.ipv4.tcp_available_congestion_control' lists what is there");
  if (!done && done.error().kind == ErrorKind::NotFound) {
    done.error().reason = "the kernel does not have it";
  } else if (!done && done.error().kind == ErrorKind::Permission) {
    done.error().next_step =
        "'sysctl net.ipv4.tcp_allowed_congestion_control' lists what is allowed";
  }
  return done;
}

Result<> apply_mss(const SocketOptions& options, int fd) {
  if (!options.mss) {
    return {};
  }
  return set(fd, IPPROTO_TCP, TCP_MAXSEG, *options.mss,
             fmt::format("segment size {}", *options.mss), "give 88 to 32767 bytes");
}

Result<> apply_buffers(const SocketOptions& options, int fd) {
  if (!options.buffer_bytes) {
    return {};
  }
  const std::string what = fmt::format("window {}", *options.buffer_bytes);
  // The kernel doubles what it is given, for its own bookkeeping.
  const Result<> sending = set(fd, SOL_SOCKET, SO_SNDBUF, *options.buffer_bytes, what, "");
  return sending ? set(fd, SOL_SOCKET, SO_RCVBUF, *options.buffer_bytes, what, "") : sending;
}

Result<> apply_pacing(const SocketOptions& options, int fd) {
  if (!options.pacing_bytes_per_s) {
    return {};
  }
  return set(fd, SOL_SOCKET, SO_MAX_PACING_RATE, *options.pacing_bytes_per_s, "pacing rate", "");
}

Result<> apply_dscp(const SocketOptions& options, int fd, Family family) {
  if (!options.dscp) {
    return {};
  }
  const int traffic_class = *options.dscp << 2;
  const std::string what = fmt::format("DSCP {}", *options.dscp);
  return family == Family::Ipv4 ? set(fd, IPPROTO_IP, IP_TOS, traffic_class, what, "")
                                : set(fd, IPPROTO_IPV6, IPV6_TCLASS, traffic_class, what, "");
}

Result<> apply_interface(const SocketOptions& options, int fd) {
  if (options.interface.empty()) {
    return {};
  }
  return set_raw(fd, SOL_SOCKET, SO_BINDTODEVICE, options.interface.data(),
                 options.interface.size(), "interface " + options.interface,
                 "'ip link' lists the interfaces");
}

Result<> apply_no_delay(const SocketOptions& options, int fd) {
  return options.no_delay ? set(fd, IPPROTO_TCP, TCP_NODELAY, 1, "no delay", "") : Result<>{};
}

Result<> apply_reuse(const SocketOptions& options, int fd) {
  return options.reuse_address ? set(fd, SOL_SOCKET, SO_REUSEADDR, 1, "address reuse", "")
                               : Result<>{};
}

}  // namespace

Result<> apply(const SocketOptions& options, int fd, Family family) {
  Result<> done = apply_interface(options, fd);
  done = done ? apply_reuse(options, fd) : done;
  done = done ? apply_congestion(options, fd) : done;
  done = done ? apply_mss(options, fd) : done;
  done = done ? apply_buffers(options, fd) : done;
  done = done ? apply_pacing(options, fd) : done;
  done = done ? apply_dscp(options, fd, family) : done;
  return done ? apply_no_delay(options, fd) : done;
}

std::optional<std::string> congestion_of(int fd) {
  std::array<char, 32> name{};
  socklen_t length = name.size();
  if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), &length) < 0) {
    return std::nullopt;
  }
  return std::string(name.data(), strnlen(name.data(), length));
}

std::optional<int> mss_of(int fd) {
  int mss = 0;
  socklen_t length = sizeof(mss);
  if (getsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &mss, &length) < 0) {
    return std::nullopt;
  }
  return mss;
}

}  // namespace chokepoint::net
