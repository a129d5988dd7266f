// The door of a server that speaks somebody else's protocol: accepts, and waits for what a client
// says first, for all visitors at once and on one thread, so that a visitor who is slow, silent or
// no client at all keeps nobody waiting. Who has said enough is handed on.
//
//   accept ──► visitor ── its first words ──► on_ready
//                 └─ too slow, too long, one too many (the oldest goes) ──► closed
//
// Owns the listeners and the visitors' sockets until they are handed on. run() belongs to one
// thread and calls on_ready from it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/net/patience.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::probe::peer {

struct Visitor {
  sys::Descriptor fd;
  net::Endpoint from;
  std::string said;
  net::Patience::Clock::time_point deadline;
};

struct DoorRules {
  // How many bytes more a visitor may send before it has said enough; 0 once it has. What follows
  // stays unread.
  std::function<std::size_t(const std::string& said)> wants;
  std::function<void(Visitor visitor)> on_ready;
  std::size_t most_visitors = 128;
  std::chrono::milliseconds patience{5000};
};

class Door {
 public:
  Door(std::vector<sys::Descriptor> listeners, DoorRules rules)
      : listeners_(std::move(listeners)), rules_(std::move(rules)) {}

  // Until `stop` is readable.
  Result<> run(int stop);

 private:
  void take_in(int listener);
  // False once it is gone.
  bool hear(Visitor& visitor);
  void remove_late();

  std::vector<sys::Descriptor> listeners_;
  DoorRules rules_;
  std::vector<Visitor> visitors_;  // the oldest first
};

// Without a key these servers let anybody in, so they listen on loopback addresses alone unless the
// operator says otherwise. `flag` names the server: "--iperf3".
Result<> check_openness(const net::Endpoint& local, bool insecure_open, const std::string& flag);

}  // namespace chokepoint::probe::peer
