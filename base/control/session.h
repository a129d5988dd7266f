// A client that was admitted, as the server sees it: its control channel and the data connections
// that the acceptor hands over. The session's thread uses all of it; arrived() alone is called by
// the acceptor's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/control/channel.h"
#include "base/control/handshake.h"
#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::control {

// What every session of a server shares. Outlives them.
struct ServerContext {
  const sys::Clock& clock;
  sys::Root root;
  Limits limits;
  int stop = -1;  // readable once the server shall end
  // The key that clients must have, as its file held it: for what a service starts in its turn.
  // Empty without one.
  std::string key = {};
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> make(sys::Descriptor fd, std::string id,
                                               const ServerHandshake& handshake,
                                               const ServerContext& context);

  Channel& channel() { return channel_; }
  const std::string& id() const { return id_; }
  // What a data connection of this session has to prove, with the number of its test.
  const Secret& secret() const { return secret_; }
  std::uint64_t test() const { return test_; }
  // A request has come.
  void begin_test();
  const Identity& client() const { return client_; }
  // Otherwise the client is not authenticated.
  bool client_has_key() const { return client_has_key_; }
  const net::Endpoint& peer() const { return peer_; }
  const net::Endpoint& local() const { return local_; }
  const ServerContext& context() const { return context_; }
  const Limits& limits() const { return context_.limits; }

  // Ends early when the server stops.
  net::Deadline deadline(std::chrono::nanoseconds wait) const {
    return net::Deadline::of(wait, context_.stop);
  }
  // A message of the test to the client, which has kAnswer to take it.
  Result<> send(Type type, Json body = Json::object()) {
    return channel_.send({type, std::move(body)}, deadline(kAnswer));
  }

  // Readable once the server shall stop or one of these events of epoll holds for the client's
  // connection: EPOLLIN, it has sent something or has gone; EPOLLRDHUP, it has gone.
  Result<sys::Descriptor> end_signal(std::uint32_t events) const;

  // From now on `count` data connections are taken, numbered from 0.
  void expect_streams(int count);
  // All of them, in the order of their numbers; an error as soon as the client has gone.
  Result<std::vector<sys::Descriptor>> streams(const net::Deadline& deadline);
  // For a test that takes its data connections as they come: those since the last call, with their
  // numbers, and a descriptor that is readable while there are any.
  std::vector<std::pair<int, sys::Descriptor>> new_streams();
  int arrival_descriptor() const { return arrival_.get(); }

  // A data connection has proved that it belongs to this test. False where none is wanted, or one
  // of this number has been there.
  bool arrived(std::uint64_t test, int index, sys::Descriptor fd);

 private:
  Session(Channel channel, std::string id, const ServerHandshake& handshake,
          const ServerContext& context, sys::Descriptor arrival)
      : channel_(std::move(channel)),
        id_(std::move(id)),
        secret_(handshake.keys().attach),
        client_(handshake.client()),
        client_has_key_(handshake.wants_key()),
        context_(context),
        arrival_(std::move(arrival)) {}
  bool complete();
  Result<sys::Descriptor> arrival_or_end() const;
  bool has_hung_up() const;

  Channel channel_;
  std::string id_;
  Secret secret_;
  std::atomic<std::uint64_t> test_ = 0;
  Identity client_;
  bool client_has_key_;
  net::Endpoint peer_;
  net::Endpoint local_;
  const ServerContext& context_;
  sys::Descriptor arrival_;  // an eventfd, written for each arrival

  std::mutex mutex_;
  int expected_ = 0;
  std::map<int, sys::Descriptor> arrived_;
  std::vector<bool> taken_;  // the numbers that have been there
};

}  // namespace chokepoint::control
