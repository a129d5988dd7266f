#include "probe/path/tcp_prober.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/net/socket.h"
#include "probe/path/arrival.h"
#include "probe/path/error_queue.h"

namespace chokepoint::probe::path {
namespace {

Result<> prepare(int fd, net::Family family, int ttl) {
  const bool four = family == net::Family::Ipv4;
  const linger reset{.l_onoff = 1, .l_linger = 0};
  if (setsockopt(fd, four ? IPPROTO_IP : IPPROTO_IPV6, four ? IP_TTL : IPV6_UNICAST_HOPS, &ttl,
                 sizeof(ttl)) < 0 ||
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0) {
    return fail(from_errno(errno, "set", "TTL of a connection"));
  }
  return enable_error_queue(fd, family);
}

Result<> bind_source(int fd, const std::optional<net::Address>& source) {
  if (!source) {
    return {};
  }
  sockaddr_storage storage{};
  const socklen_t length = net::Endpoint{.address = *source}.to_socket(storage);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&storage), length) < 0) {
    return fail(from_errno(errno, "bind", source->text()));
  }
  return {};
}

// 0 where it is under way.
int start_connecting(int fd, const net::Endpoint& target) {
  sockaddr_storage storage{};
  const socklen_t length = target.to_socket(storage);
  const bool failed = connect(fd, reinterpret_cast<const sockaddr*>(&storage), length) < 0;
  return failed && errno != EINPROGRESS ? errno : 0;
}

timespec as_timespec(std::chrono::nanoseconds wait) {
  return {.tv_sec = static_cast<time_t>(wait.count() / 1'000'000'000),
          .tv_nsec = static_cast<long>(wait.count() % 1'000'000'000)};
}

}  // namespace

TcpProber::TcpProber(const net::Endpoint& target, const Origin& origin, const sys::Clock& clock)
    : target_(target), origin_(origin), clock_(&clock) {}

Result<sys::Descriptor> TcpProber::open(int ttl) const {
  const net::Family family = target_.address.family();
  sys::Descriptor fd(socket(family == net::Family::Ipv4 ? AF_INET : AF_INET6,
                            SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) {
    return fail(from_errno(errno, "connect", target_.text()));
  }
  Result<> done = prepare(fd.get(), family, ttl);
  done = done ? net::apply({.interface = origin_.interface}, fd.get(), family) : done;
  done = done ? bind_source(fd.get(), origin_.source) : done;
  if (!done) {
    return std::unexpected(done.error());
  }
  return fd;
}

Result<> TcpProber::send(const Shot& shot) {
  TRY(sys::Descriptor fd, open(shot.ttl));
  const int code = start_connecting(fd.get(), target_);
  if (code == ECONNREFUSED) {
    pending_.push_back(answer_without_icmp(shot.sequence, code));
    return {};
  }
  if (code != 0) {
    return fail(from_errno(code, "connect", target_.text()));
  }
  sockets_.emplace(shot.sequence, std::move(fd));
  return {};
}

Reply TcpProber::answer_without_icmp(std::uint32_t sequence, int code) const {
  const bool from_target = code == 0 || code == ECONNREFUSED;
  Reply reply{.sequence = sequence, .received_ns = clock_->monotonic_ns()};
  reply.kind = from_target ? ReplyKind::Reached : ReplyKind::Unreachable;
  if (from_target) {
    reply.from = target_.address;
  } else {
    reply.reason = Unreachable::Other;
  }
  return reply;
}

std::optional<Reply> TcpProber::outcome(std::uint32_t sequence, int fd, short events) const {
  if (const std::optional<QueuedError> error = next_error(fd, target_.address.family())) {
    return Reply{.sequence = sequence,
                 .kind = error->meaning.kind,
                 .from = error->from,
                 .reason = error->meaning.reason,
                 .mtu_bytes = error->mtu_bytes,
                 .received_ns = monotonic_of(error->wall_ns, *clock_)};
  }
  const int code = net::pending_error(fd);
  // The kernel gave up on its own: nobody answered.
  if (code == ETIMEDOUT || (code == 0 && (events & POLLOUT) == 0)) {
    return std::nullopt;
  }
  return answer_without_icmp(sequence, code);
}

Result<std::vector<Reply>> TcpProber::collect(std::chrono::nanoseconds wait) {
  std::vector<Reply> replies = std::exchange(pending_, {});
  std::vector<pollfd> watched;
  std::vector<std::uint32_t> sequences;
  for (const auto& [sequence, fd] : sockets_) {
    watched.push_back({.fd = fd.get(), .events = POLLOUT, .revents = 0});
    sequences.push_back(sequence);
  }
  watched.push_back({.fd = origin_.interrupt, .events = POLLIN, .revents = 0});
  const timespec limit = as_timespec(replies.empty() ? wait : std::chrono::nanoseconds(0));
  if (ppoll(watched.data(), watched.size(), &limit, nullptr) < 0 && errno != EINTR) {
    return fail(from_errno(errno, "wait for", target_.text()));
  }
  if (watched.back().revents != 0) {
    return fail(ErrorKind::Interrupted, "wait for", target_.text(), "interrupted");
  }
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    if (watched[i].revents == 0) {
      continue;
    }
    if (const auto reply = outcome(sequences[i], watched[i].fd, watched[i].revents)) {
      replies.push_back(*reply);
    }
    sockets_.erase(sequences[i]);
  }
  return replies;
}

}  // namespace chokepoint::probe::path
