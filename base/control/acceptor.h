// The server's listeners: takes connections, and admits the clients that prove their key. All
// connections that are not admitted yet cost one thread and a fixed amount of memory, however slow,
// silent or hostile they are:
//
//   accept ──► pending ── Hello ──► Welcome ── Proof ──► AdmissionHandler::enter: a client
//                 │                    └── Attach ──► AdmissionHandler::attach: a data
//                 │                                    connection that opens as a client does
//                 ├── Attach ──► AdmissionHandler::attach: a data connection
//                 └── too slow, malformed, one too many ──► closed
//
// Where there are too many, one of a source that has most is closed, chosen at random: a source
// that connects as fast as it can pushes out its own, and one that took all places first does not
// keep them. Where thousands of sources have one each, any of them goes, so that a client has time
// for its few messages in proportion to the places. A source is an IPv4 address or the first 64
// bits of an IPv6 address.
//
// run() belongs to one thread and calls the handler from it.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <random>
#include <unordered_map>
#include <vector>

#include "base/control/handshake.h"
#include "base/control/message.h"
#include "base/net/deadline.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::control {

class AdmissionHandler {
 public:
  virtual ~AdmissionHandler() = default;
  // A client has proved its key. An error is sent to it.
  virtual Result<> enter(sys::Descriptor& fd, ServerHandshake& handshake) = 0;
  virtual void attach(const Attachment& attachment, sys::Descriptor fd) = 0;
  // At least once a second.
  virtual void tidy() = 0;
  // That clients must have, from now on.
  virtual const KeyRing& keys() const = 0;
};

struct AcceptorOptions {
  Identity own = {};
  std::size_t max_pending = 1024;
  std::size_t max_of_one_source = 128;
  std::chrono::milliseconds time_limit{5000};  // before admission, from accept to the last byte
};

class Acceptor {
 public:
  static Result<Acceptor> open(std::vector<sys::Descriptor> listeners, AcceptorOptions options,
                               AdmissionHandler& handler);

  // Until `stop` is readable.
  Result<> run(int stop);

 private:
  struct PendingConnection {
    std::uint64_t id = 0;
    std::uint64_t source = 0;
    sys::Descriptor fd;
    net::Deadline::Clock::time_point deadline;
    FrameReader reader{kMaxBeforeHandshake};
    std::optional<ServerHandshake> handshake = {};
  };
  using Place = std::list<PendingConnection>::iterator;
  enum class Decision { Wait, Close };

  Acceptor(std::vector<sys::Descriptor> listeners, AcceptorOptions options,
           AdmissionHandler& handler, sys::Descriptor epoll)
      : listeners_(std::move(listeners)),
        options_(std::move(options)),
        handler_(&handler),
        epoll_(std::move(epoll)) {}

  Result<> watch(int fd, std::uint64_t id) const;
  void accept_from(int listener);
  void add(sys::Descriptor fd);
  void make_room(std::uint64_t source);
  Place any_of(std::uint64_t source, std::size_t count);
  void remove(Place place);
  void remove_late();
  void receive_from(std::uint64_t id);
  Decision read(PendingConnection& client);
  Decision answer(PendingConnection& client, const Message& message);
  Decision greet(PendingConnection& client, const Message& hello);
  Decision admit(PendingConnection& client, const Message& proof);
  int wait_ms() const;

  std::vector<sys::Descriptor> listeners_;
  AcceptorOptions options_;
  AdmissionHandler* handler_;
  sys::Descriptor epoll_;
  std::uint64_t next_id_ = 0;
  std::minstd_rand random_{std::random_device()()};
  std::list<PendingConnection> pending_;  // the oldest first
  std::unordered_map<std::uint64_t, Place> by_id_;
  std::unordered_map<std::uint64_t, std::size_t> of_source_;  // how many pending connections
};

}  // namespace chokepoint::control
