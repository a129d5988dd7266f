#include "probe/iperf3/lobby.h"

#include <sys/socket.h>

#include "probe/iperf3/protocol.h"

namespace chokepoint::probe::iperf3 {
namespace {

// Whoever does not take one byte has gone already.
void deny(const peer::Visitor& visitor) {
  const State state = State::AccessDenied;
  static_cast<void>(send(visitor.fd.get(), &state, sizeof(state), MSG_NOSIGNAL | MSG_DONTWAIT));
}

}  // namespace

Result<std::unique_ptr<Lobby>> Lobby::make() {
  Result<Room> clients = peer::WaitingRoom::make(1);
  Result<Room> streams = clients ? peer::WaitingRoom::make(std::size_t{2} * kMostStreams)
                                 : Result<Room>(std::unexpected(clients.error()));
  if (!streams) {
    return std::unexpected(streams.error());
  }
  return std::unique_ptr<Lobby>(new Lobby(std::move(*clients), std::move(*streams)));
}

void Lobby::arrive(peer::Visitor visitor) {
  const std::lock_guard lock(mutex_);
  const bool first = !cookie_;
  if (first) {
    cookie_ = visitor.said;
  }
  const bool welcome = visitor.said == *cookie_;
  if (!welcome || !(first ? clients_ : streams_)->enter(visitor)) {
    deny(visitor);
  }
}

Result<peer::Visitor> Lobby::next_client(const net::Patience& patience) {
  return clients_->next(patience);
}

Result<peer::Visitor> Lobby::next_stream(const net::Patience& patience) {
  return streams_->next(patience);
}

void Lobby::free() {
  const std::lock_guard lock(mutex_);
  cookie_.reset();
  streams_->clear();
}

}  // namespace chokepoint::probe::iperf3
