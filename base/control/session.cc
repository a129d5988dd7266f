#include "base/control/session.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/net/socket.h"

namespace chokepoint::control {

Result<std::unique_ptr<Session>> Session::make(sys::Descriptor fd, std::string id,
                                               const ServerHandshake& handshake,
                                               const ServerContext& context) {
  const Result<net::Endpoint> peer = net::peer_endpoint(fd.get());
  const Result<net::Endpoint> local = net::local_endpoint(fd.get());
  if (!peer || !local) {
    return std::unexpected(peer ? local.error() : peer.error());
  }
  TRY(net::end_on_silence(fd.get(), kSilence));
  sys::Descriptor arrival(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!arrival) {
    return fail(from_errno(errno, "open session", peer->text()));
  }
  Channel channel(std::move(fd), peer->address.text(), kMaxFromClient);
  // The acceptor has read the client's first sealed frame, its Proof.
  channel.seal(Seal(handshake.keys().to_client), Seal(handshake.keys().to_server, 1));
  std::unique_ptr<Session> session(
      new Session(std::move(channel), std::move(id), handshake, context, std::move(arrival)));
  session->peer_ = *peer;
  session->local_ = *local;
  return session;
}

Result<sys::Descriptor> Session::end_signal(std::uint32_t events) const {
  sys::Descriptor signal(epoll_create1(EPOLL_CLOEXEC));
  epoll_event stopped{.events = EPOLLIN, .data = {}};
  epoll_event client{.events = events, .data = {}};
  const int stop = context_.stop;
  if (!signal || (stop >= 0 && epoll_ctl(signal.get(), EPOLL_CTL_ADD, stop, &stopped) != 0) ||
      epoll_ctl(signal.get(), EPOLL_CTL_ADD, channel_.descriptor(), &client) != 0) {
    return fail(from_errno(errno, "watch", "session"));
  }
  return signal;
}

void Session::expect_streams(int count) {
  const std::lock_guard lock(mutex_);
  expected_ = count;
  arrived_.clear();
  taken_.clear();
}

void Session::begin_test() {
  const std::lock_guard lock(mutex_);
  ++test_;
  expected_ = 0;
  arrived_.clear();
  taken_.clear();
}

bool Session::arrived(std::uint64_t test, int index, sys::Descriptor fd) {
  const std::lock_guard lock(mutex_);
  if (test != test_ || index < 0 || index >= expected_) {
    return false;
  }
  const auto number = static_cast<std::size_t>(index);
  if (number < taken_.size() && taken_[number]) {
    return false;
  }
  taken_.resize(std::max(taken_.size(), number + 1));
  taken_[number] = true;
  arrived_.emplace(index, std::move(fd));
  const std::uint64_t one = 1;
  return write(arrival_.get(), &one, sizeof(one)) == sizeof(one);
}

bool Session::complete() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  std::ignore = read(arrival_.get(), &count, sizeof(count));
  return static_cast<int>(arrived_.size()) == expected_;
}

// Readable once a data connection has arrived, or the client has closed its control connection.
Result<sys::Descriptor> Session::arrival_or_end() const {
  sys::Descriptor both(epoll_create1(EPOLL_CLOEXEC));
  epoll_event arrived{.events = EPOLLIN, .data = {}};
  epoll_event closed{.events = EPOLLRDHUP, .data = {}};
  if (!both || epoll_ctl(both.get(), EPOLL_CTL_ADD, arrival_.get(), &arrived) != 0 ||
      epoll_ctl(both.get(), EPOLL_CTL_ADD, channel_.descriptor(), &closed) != 0) {
    return fail(from_errno(errno, "wait for streams", channel_.peer()));
  }
  return both;
}

bool Session::has_hung_up() const {
  pollfd control{channel_.descriptor(), POLLRDHUP, 0};
  return ::poll(&control, 1, 0) > 0 && control.revents != 0;
}

Result<std::vector<sys::Descriptor>> Session::streams(const net::Deadline& deadline) {
  TRY(const sys::Descriptor news, arrival_or_end());
  while (!complete()) {
    TRY(net::wait_for(news.get(), POLLIN, deadline, "wait for streams", channel_.peer()));
    if (has_hung_up()) {
      return fail(ErrorKind::Refused, "wait for streams", channel_.peer(),
                  "it closed the connection");
    }
  }
  const std::lock_guard lock(mutex_);
  std::vector<sys::Descriptor> streams;
  streams.reserve(arrived_.size());
  for (auto& [index, fd] : arrived_) {
    streams.push_back(std::move(fd));
  }
  arrived_.clear();
  expected_ = 0;
  return streams;
}

std::vector<std::pair<int, sys::Descriptor>> Session::new_streams() {
  const std::lock_guard lock(mutex_);
  std::uint64_t count = 0;
  std::ignore = read(arrival_.get(), &count, sizeof(count));
  std::vector<std::pair<int, sys::Descriptor>> streams;
  for (auto& [index, fd] : std::exchange(arrived_, {})) {
    streams.emplace_back(index, std::move(fd));
  }
  return streams;
}

}  // namespace chokepoint::control
