// The other side of a protocol, played by a test over a loopback connection: says and hears exactly
// what it is told to.
#pragma once

#include <string>
#include <thread>

#include "base/net/address.h"
#include "base/net/socket.h"
#include "base/sys/descriptor.h"

namespace chokepoint::peers {

class Script {
 public:
  static Script to(const net::Endpoint& server);
  explicit Script(sys::Descriptor fd) : fd_(std::move(fd)) {}

  Script& say(std::string_view text);
  // Up to so many bytes; fewer where the other side closes or stays silent for ten seconds.
  std::string hear(std::size_t count);
  bool is_closed();
  // Of this side.
  std::uint16_t port() const;

 private:
  sys::Descriptor fd_;
};

// A listener on a free port of the loopback interface.
struct Listener {
  Listener();
  Script accept() const;

  sys::Descriptor fd;
  net::Endpoint at;
};

}  // namespace chokepoint::peers
