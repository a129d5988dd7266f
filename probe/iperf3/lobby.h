// Who may come in while a client is served: its own streams, told by the cookie. Everybody else is
// told that the server is busy. arrive() is the door's thread's, the rest the test's.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "probe/peer/waiting_room.h"

namespace chokepoint::probe::iperf3 {

class Lobby {
 public:
  static Result<std::unique_ptr<Lobby>> make();

  void arrive(peer::Visitor visitor);

  Result<peer::Visitor> next_client(const net::Patience& patience);
  Result<peer::Visitor> next_stream(const net::Patience& patience);
  void free();

 private:
  using Room = std::unique_ptr<peer::WaitingRoom>;
  Lobby(Room clients, Room streams) : clients_(std::move(clients)), streams_(std::move(streams)) {}

  Room clients_;
  Room streams_;
  std::mutex mutex_;
  std::optional<std::string> cookie_;  // of who is served
};

}  // namespace chokepoint::probe::iperf3
