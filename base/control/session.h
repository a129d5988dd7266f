// A client that was let in, as the server sees it: its control channel and the data connections
// that the door hands over. The session's thread uses all of it; arrived() alone is called by the
// door's thread.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/control/channel.h"
#include "base/control/handshake.h"
#include "base/control/limits.h"
#include "base/net/address.h"
#include "base/net/patience.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/root.h"

namespace chokepoint::control {

// What every session of a server shares. Outlives them.
struct Surroundings {
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
                                               const Surroundings& surroundings);

  Channel& channel() { return channel_; }
  const std::string& id() const { return id_; }
  const Secret& secret() const { return secret_; }
  const Identity& client() const { return client_; }
  const net::Endpoint& peer() const { return peer_; }
  const net::Endpoint& local() const { return local_; }
  const Surroundings& surroundings() const { return surroundings_; }
  const Limits& limits() const { return surroundings_.limits; }

  // Ends early when the server stops.
  net::Patience patience(std::chrono::nanoseconds wait) const {
    return net::Patience::of(wait, surroundings_.stop);
  }

  // From now on `count` data connections are taken, numbered from 0.
  void expect_streams(int count);
  // All of them, in the order of their numbers.
  Result<std::vector<sys::Descriptor>> streams(const net::Patience& patience);

  // A data connection has proved that it belongs here. False where none is wanted.
  bool arrived(int index, sys::Descriptor fd);

 private:
  Session(Channel channel, std::string id, const ServerHandshake& handshake,
          const Surroundings& surroundings, sys::Descriptor arrival)
      : channel_(std::move(channel)),
        id_(std::move(id)),
        secret_(handshake.secret()),
        client_(handshake.client()),
        surroundings_(surroundings),
        arrival_(std::move(arrival)) {}
  bool complete();

  Channel channel_;
  std::string id_;
  Secret secret_;
  Identity client_;
  net::Endpoint peer_;
  net::Endpoint local_;
  const Surroundings& surroundings_;
  sys::Descriptor arrival_;  // an eventfd, written for each arrival

  std::mutex mutex_;
  int expected_ = 0;
  std::map<int, sys::Descriptor> arrived_;
};

}  // namespace chokepoint::control
