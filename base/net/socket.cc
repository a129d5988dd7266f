#include "base/net/socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

namespace chokepoint::net {
namespace {

using sys::Descriptor;

sockaddr* as_sockaddr(sockaddr_storage& storage) { return reinterpret_cast<sockaddr*>(&storage); }

int domain_of(const Endpoint& endpoint) {
  return endpoint.address.family() == Family::Ipv4 ? AF_INET : AF_INET6;
}

Result<Descriptor> open(const Endpoint& about, int type, std::string_view operation) {
  Descriptor fd(socket(domain_of(about), type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    return fail(from_errno(errno, operation, about.text()));
  }
  return fd;
}

Result<> set_flag(int fd, int level, int name, std::string_view subject) {
  const int on = 1;
  if (setsockopt(fd, level, name, &on, sizeof(on)) < 0) {
    return fail(from_errno(errno, "open socket", subject));
  }
  return {};
}

Result<> bind_to(int fd, const Endpoint& local, std::string_view operation) {
  if (local.address.family() == Family::Ipv6) {
    if (const Result<> only = set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, local.text()); !only) {
      return only;
    }
  }
  sockaddr_storage storage{};
  const socklen_t length = local.to_socket(storage);
  if (bind(fd, as_sockaddr(storage), length) < 0) {
    return fail(from_errno(errno, operation, local.text()));
  }
  return {};
}

Result<> bind_source(int fd, const SocketOptions& options) {
  if (!options.source) {
    return {};
  }
  Result<> bound = bind_to(fd, {.address = *options.source, .port = 0}, "use address");
  if (!bound) {
    bound.error().subject = options.source->text();
    bound.error().next_step = "'ip address' lists what this host has";
  }
  return bound;
}

Result<> start_connecting(int fd, const Endpoint& peer) {
  sockaddr_storage storage{};
  const socklen_t length = peer.to_socket(storage);
  if (::connect(fd, as_sockaddr(storage), length) < 0 && errno != EINPROGRESS) {
    return fail(from_errno(errno, "connect", peer.text()));
  }
  return {};
}

template <class Ask>
Result<Endpoint> endpoint_of(int fd, Ask ask) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (ask(fd, as_sockaddr(storage), &length) < 0) {
    return fail(from_errno(errno, "read address", "socket"));
  }
  return Endpoint::from_socket(storage);
}

timeval as_timeval(std::chrono::milliseconds wait) {
  return {.tv_sec = wait.count() / 1000, .tv_usec = (wait.count() % 1000) * 1000};
}

}  // namespace

Result<Descriptor> listen(const Endpoint& local, int backlog, const SocketOptions& options) {
  Result<Descriptor> fd = open(local, SOCK_STREAM, "listen");
  if (!fd) {
    return fd;
  }
  for (const Result<>& done :
       {set_flag(fd->get(), SOL_SOCKET, SO_REUSEADDR, local.text()),
        apply(options, fd->get(), local.address.family()), bind_to(fd->get(), local, "listen")}) {
    if (!done) {
      return std::unexpected(done.error());
    }
  }
  if (::listen(fd->get(), backlog) < 0) {
    return fail(from_errno(errno, "listen", local.text()));
  }
  return fd;
}

Result<std::optional<Descriptor>> accept(int listener) {
  Descriptor fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd) {
    return fd;
  }
  // Whoever gave up before being accepted is no failure of the listener.
  if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED || errno == EPROTO) {
    return std::nullopt;
  }
  return fail(from_errno(errno, "accept", "listening socket"));
}

Result<Descriptor> start_connect(const Endpoint& peer, const SocketOptions& options) {
  Result<Descriptor> fd = open(peer, SOCK_STREAM, "connect");
  if (!fd) {
    return fd;
  }
  Result<> done = apply(options, fd->get(), peer.address.family());
  done = done ? bind_source(fd->get(), options) : done;
  done = done ? start_connecting(fd->get(), peer) : done;
  if (!done) {
    return std::unexpected(done.error());
  }
  return fd;
}

Result<Descriptor> connect(const Endpoint& peer, const SocketOptions& options,
                           const Deadline& deadline) {
  const std::string subject = peer.text();
  Result<Descriptor> fd = start_connect(peer, options);
  if (!fd) {
    return fd;
  }
  TRY(wait_for(fd->get(), POLLOUT, deadline, "connect", subject));
  if (const int code = pending_error(fd->get()); code != 0) {
    return fail(from_errno(code, "connect", subject));
  }
  return fd;
}

Result<Descriptor> bind_udp(const Endpoint& local, const SocketOptions& options) {
  Result<Descriptor> fd = open(local, SOCK_DGRAM, "open UDP port");
  if (!fd) {
    return fd;
  }
  Result<> done = apply(options, fd->get(), local.address.family());
  done = done ? bind_to(fd->get(), local, "open UDP port") : done;
  if (!done) {
    return std::unexpected(done.error());
  }
  return fd;
}

Result<> connect_udp(int fd, const Endpoint& peer) { return start_connecting(fd, peer); }

Result<> set_blocking(int fd, std::chrono::milliseconds send_timeout,
                      std::chrono::milliseconds receive_timeout) {
  const int flags = fcntl(fd, F_GETFL);
  const timeval sending = as_timeval(send_timeout);
  const timeval receiving = as_timeval(receive_timeout);
  if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ||
      setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &sending, sizeof(sending)) < 0 ||
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &receiving, sizeof(receiving)) < 0) {
    return fail(from_errno(errno, "prepare", "socket"));
  }
  return {};
}

Result<Endpoint> local_endpoint(int fd) { return endpoint_of(fd, getsockname); }
Result<Endpoint> peer_endpoint(int fd) { return endpoint_of(fd, getpeername); }

int pending_error(int fd) {
  int code = 0;
  socklen_t length = sizeof(code);
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length) < 0 ? errno : code;
}

Result<> send_all(int fd, std::span<const std::byte> data, const Deadline& deadline,
                  std::string_view subject) {
  while (!data.empty()) {
    const ssize_t sent = send(fd, data.data(), data.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      data = data.subspan(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EINTR) {
      return fail(from_errno(errno, "send", subject));
    } else if (const Result<> ready = wait_for(fd, POLLOUT, deadline, "send", subject); !ready) {
      return ready;
    }
  }
  return {};
}

Result<std::size_t> receive_some(int fd, std::span<std::byte> into, const Deadline& deadline,
                                 std::string_view subject) {
  while (true) {
    const ssize_t got = recv(fd, into.data(), into.size(), MSG_DONTWAIT);
    if (got >= 0) {
      return static_cast<std::size_t>(got);
    }
    if (errno != EAGAIN && errno != EINTR) {
      return fail(from_errno(errno, "receive", subject));
    }
    TRY(wait_for(fd, POLLIN, deadline, "receive", subject));
  }
}

Result<> receive_all(int fd, std::span<std::byte> into, const Deadline& deadline,
                     std::string_view subject) {
  while (!into.empty()) {
    TRY(const std::size_t got, receive_some(fd, into, deadline, subject));
    if (got == 0) {
      return fail(ErrorKind::Refused, "receive", subject, "the peer closed the connection");
    }
    into = into.subspan(got);
  }
  return {};
}

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

namespace {

struct Setting {
  int level;
  int name;
  int value;
};

constexpr int kProbes = 2;

}  // namespace

Result<> end_on_silence(int fd, std::chrono::seconds silence) {
  const int each = static_cast<int>(silence.count()) / (kProbes + 1);
  const int all_ms = static_cast<int>(std::chrono::milliseconds(silence).count());
  const std::array settings{
      Setting{SOL_SOCKET, SO_KEEPALIVE, 1}, Setting{IPPROTO_TCP, TCP_KEEPIDLE, each},
      Setting{IPPROTO_TCP, TCP_KEEPINTVL, each}, Setting{IPPROTO_TCP, TCP_KEEPCNT, kProbes},
      Setting{IPPROTO_TCP, TCP_USER_TIMEOUT, all_ms}};
  for (const Setting& setting : settings) {
    if (setsockopt(fd, setting.level, setting.name, &setting.value, sizeof(setting.value)) < 0) {
      return fail(from_errno(errno, "watch for silence", "connection"));
    }
  }
  return {};
}

}  // namespace chokepoint::net
