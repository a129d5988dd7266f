#include "base/control/session.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>

#include "base/net/liveness.h"
#include "base/net/socket.h"

namespace chokepoint::control {

Result<std::unique_ptr<Session>> Session::make(sys::Descriptor fd, std::string id,
                                               const ServerHandshake& handshake,
                                               const Surroundings& surroundings) {
  const Result<net::Endpoint> peer = net::peer_endpoint(fd.get());
  const Result<net::Endpoint> local = net::local_endpoint(fd.get());
  if (!peer || !local) {
    return std::unexpected(peer ? local.error() : peer.error());
  }
  if (const Result<> watched = net::end_on_silence(fd.get(), kSilence); !watched) {
    return std::unexpected(watched.error());
  }
  sys::Descriptor arrival(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!arrival) {
    return fail(from_errno(errno, "open session", peer->text()));
  }
  Channel channel(std::move(fd), peer->address.text(), kMostFromClient);
  std::unique_ptr<Session> session(
      new Session(std::move(channel), std::move(id), handshake, surroundings, std::move(arrival)));
  session->peer_ = *peer;
  session->local_ = *local;
  return session;
}

void Session::expect_streams(int count) {
  const std::lock_guard lock(mutex_);
  expected_ = count;
  arrived_.clear();
}

bool Session::arrived(int index, sys::Descriptor fd) {
  const std::lock_guard lock(mutex_);
  if (index < 0 || index >= expected_ || arrived_.contains(index)) {
    return false;
  }
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

Result<std::vector<sys::Descriptor>> Session::streams(const net::Patience& patience) {
  while (!complete()) {
    if (const Result<> waited =
            net::wait_for(arrival_.get(), POLLIN, patience, "wait for streams", channel_.peer());
        !waited) {
      return std::unexpected(waited.error());
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

}  // namespace chokepoint::control
