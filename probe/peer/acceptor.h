// The acceptor of a server of a foreign protocol. It accepts connections and reads what each
// client sends first, of all pending at once on one thread, so that a connection that is slow,
// silent or not a client at all delays no other client. A connection that has sent enough is handed
// on, usually into the queue from which the thread that runs the tests takes it.
//
//   accept ──► connection ── its first bytes ──► on_ready ── push ──► ConnectionQueue ──► next
//                 └─ too slow, too long, one too many (the oldest goes) ──► closed
//
// The acceptor owns the listeners and the sockets until they are handed on; run() calls
// on_ready from its thread. The queue may be used by any two threads: it has a mutex, and a
// descriptor to wait on.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::probe::peer {

struct PendingConnection {
  sys::Descriptor fd;
  net::Endpoint from;
  std::string received;
  net::Deadline::Clock::time_point deadline;
};

struct AcceptorRules {
  // How many more bytes the connection has to send; 0 once it has received enough. What follows
  // stays unread.
  std::function<std::size_t(const std::string& received)> wants;
  std::function<void(PendingConnection connection)> on_ready;
  std::size_t max_pending = 128;
  std::chrono::milliseconds time_limit{5000};
};

class Acceptor {
 public:
  Acceptor(std::vector<sys::Descriptor> listeners, AcceptorRules rules)
      : listeners_(std::move(listeners)), rules_(std::move(rules)) {}

  // Until `stop` is readable.
  Result<> run(int stop);

 private:
  void accept_from(int listener);
  // False once it is gone or handed on.
  bool receive_from(PendingConnection& connection);
  void remove_late();

  std::vector<sys::Descriptor> listeners_;
  AcceptorRules rules_;
  std::vector<PendingConnection> pending_;  // the oldest first
};

// Without a key these servers serve every client, so they listen on loopback addresses alone unless
// the operator opens them. `flag` names the server: "--iperf3".
Result<> check_openness(const net::Endpoint& local, bool insecure_open, const std::string& flag);

// Connections on their way from the acceptor's thread to another one, in the order in which they
// came.
class ConnectionQueue {
 public:
  static Result<std::unique_ptr<ConnectionQueue>> make(std::size_t most);

  // False where the queue is full: the connection then stays the caller's.
  bool push(PendingConnection& connection);
  Result<PendingConnection> next(const net::Deadline& deadline);
  void clear();

 private:
  ConnectionQueue(std::size_t most, sys::Descriptor event)
      : most_(most), event_(std::move(event)) {}

  std::size_t most_;
  sys::Descriptor event_;  // an eventfd, readable while connections wait
  std::mutex mutex_;
  std::deque<PendingConnection> waiting_;
};

}  // namespace chokepoint::probe::peer
