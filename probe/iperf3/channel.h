// iperf3's control connection: states, JSON and errors, each with a deadline. Owns the socket. One
// thread at a time.
#pragma once

#include <span>
#include <string>

#include "base/net/deadline.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/iperf3/protocol.h"

namespace chokepoint::probe::iperf3 {

class Channel {
 public:
  // `peer`: its name in errors.
  Channel(sys::Descriptor fd, std::string peer) : fd_(std::move(fd)), peer_(std::move(peer)) {}

  int descriptor() const { return fd_.get(); }
  const std::string& peer() const { return peer_; }

  Result<> send(std::span<const std::byte> raw, const net::Deadline& deadline);
  Result<> send(State state, const net::Deadline& deadline);
  Result<> send(const ServerError& error, const net::Deadline& deadline);
  Result<> send_json(const std::string& json, const net::Deadline& deadline);

  Result<State> receive(const net::Deadline& deadline);
  // An error if the peer sends another state.
  Result<> expect(State state, const net::Deadline& deadline);
  Result<std::string> receive_json(std::size_t most, const net::Deadline& deadline);

  // The error that this unexpected state stands for; reads what follows ServerError.
  Error error_for(State state, const net::Deadline& deadline);

 private:
  sys::Descriptor fd_;
  std::string peer_;
};

}  // namespace chokepoint::probe::iperf3
