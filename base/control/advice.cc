#include "base/control/advice.h"

#include <fmt/format.h>

namespace chokepoint::control {
namespace {

std::string advice_for(const Error& error, const net::Endpoint& peer) {
  switch (error.kind) {
    case ErrorKind::Refused:
      return "is 'chokepoint serve' running there?";
    case ErrorKind::Timeout:
      return fmt::format("is the host up, and does a firewall let TCP port {} pass?", peer.port);
    case ErrorKind::Unreachable:
      return fmt::format("'ip route get {}' shows where it would go", peer.address.text());
    default:
      return error.next_step;
  }
}

}  // namespace

Error with_advice(Error error, const net::Endpoint& peer) {
  // What this side asked of its own socket says so itself.
  if (error.operation != "connect") {
    return error;
  }
  error.operation.clear();
  error.subject = fmt::format("{} port {}", peer.address.text(), peer.port);
  error.next_step = advice_for(error, peer);
  return error;
}

Error explained(Error error) {
  if (error.kind == ErrorKind::Malformed) {
    error.next_step = "does another program listen on that port? give chokepoint's with --port";
  } else if (error.kind == ErrorKind::Timeout) {
    error.reason = "it took the connection and said nothing";
    error.next_step = "is it 'chokepoint serve' that listens there?";
  }
  return error;
}

}  // namespace chokepoint::control
