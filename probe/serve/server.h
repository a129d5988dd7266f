// The server that probes measure against: an acceptor, and a thread for each client that was
// admitted.
//
//   run() ── acceptor's thread ── AdmissionHandler::enter ──► session's thread: Request,
//                          │                                  turn, Service::serve …
//                          └─ AdmissionHandler::attach ──► Session::arrived
//
// Owns the sessions and their threads; borrows the services. run() returns once `stop` is readable
// and every session has ended. What a session cannot get (a thread, memory) fails that session
// alone.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/control/acceptor.h"
#include "base/control/key.h"
#include "base/control/service.h"

namespace chokepoint::probe::serve {

// A line for the operator's log. Called from any thread.
using Log = std::function<void(const std::string& line)>;

struct ServerOptions {
  control::Identity own = {};
  control::KeyRing keys = {};
  // Where these come from, to be read again when it changes; made before them.
  std::optional<control::KeyFolder> key_folder = {};
  std::size_t most_clients = 32;
  bool exclusive = false;
  control::Capacity capacity = {};
  // A client that has asked for nothing for so long makes room where all places are taken.
  std::chrono::nanoseconds idle = std::chrono::seconds(5);
};

class Server final : public control::AdmissionHandler {
 public:
  Server(ServerOptions options, control::ServerContext context, const control::Services& services,
         Log log);
  ~Server() override;

  Result<> run(std::vector<sys::Descriptor> listeners);

  // Who may test now: for those that serve other clients beside this server. Any thread.
  control::TestQueue& test_queue() { return test_queue_; }

  Result<> enter(sys::Descriptor& fd, control::ServerHandshake& handshake) override;
  void attach(const control::Attachment& attachment, sys::Descriptor fd) override;
  void tidy() override;
  const control::KeyRing& keys() const override { return options_.keys; }

 private:
  struct ClientThread {
    std::unique_ptr<control::Session> session;
    std::atomic<bool> done = false;
    // When it began to wait for its client's next request, by the monotonic clock; kBusy while it
    // tests.
    std::atomic<std::int64_t> idle_since_ns = kBusy;
    bool is_expelled = false;  // the acceptor's thread alone
    std::thread thread;
  };
  static constexpr std::int64_t kBusy = -1;

  Result<> admit(sys::Descriptor& fd, control::ServerHandshake& handshake);
  void live(ClientThread& client, const control::Message& admitted);
  // The requests of an admitted client, one after the other, until it leaves, falls silent or the
  // server stops.
  void converse(ClientThread& client);
  bool make_room();
  void look_for_keys();
  void join_all();

  ServerOptions options_;
  control::ServerContext context_;
  const control::Services& services_;
  Log log_;
  control::TestQueue test_queue_;
  std::list<ClientThread> clients_;  // the acceptor's thread alone
};

}  // namespace chokepoint::probe::serve
