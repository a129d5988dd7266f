#include "probe/peer/dial.h"

#include <fmt/format.h>

#include <chrono>

#include "base/control/deadlines.h"
#include "base/net/address.h"
#include "base/net/resolver.h"
#include "base/net/socket.h"

namespace chokepoint::probe::peer {
namespace {

using net::Deadline;
using std::chrono::milliseconds;

constexpr milliseconds kRetryAfter{20};

Error with_advice(Error error, const net::Endpoint& peer, const std::string& server) {
  // Errors of setting up the local socket explain themselves.
  if (error.operation != "connect") {
    return error;
  }
  error.operation.clear();
  error.subject = fmt::format("{} port {}", peer.address.text(), peer.port);
  if (error.kind == ErrorKind::Refused) {
    error.next_step = fmt::format("is '{}' running there?", server);
  } else if (error.kind == ErrorKind::Timeout) {
    error.next_step =
        fmt::format("is the host up, and does a firewall let TCP port {} pass?", peer.port);
  }
  return error;
}

}  // namespace

Result<Dialled> dial(const net::HostPort& host, std::optional<net::Family> family,
                     const net::SocketOptions& options, const std::string& server,
                     const Deadline& deadline) {
  TRY(const std::vector<net::Address> addresses, net::resolve_within(host.host, family, deadline));
  std::optional<Error> first;
  for (const net::Address& address : addresses) {
    const net::Endpoint peer{address, host.port};
    Result<sys::Descriptor> fd =
        net::connect(peer, options, deadline.at_most(control::kConnectToAddress));
    if (fd) {
      return Dialled{std::move(*fd), peer};
    }
    if (fd.error().kind == ErrorKind::Interrupted) {
      return std::unexpected(fd.error());
    }
    first = first ? first : with_advice(fd.error(), peer, server);
  }
  return fail(first.value_or(Error{.kind = ErrorKind::NotFound,
                                   .operation = "resolve",
                                   .subject = host.host,
                                   .reason = "it has no address"}));
}

Result<sys::Descriptor> dial_soon(const net::Endpoint& peer, const net::SocketOptions& options,
                                  const Deadline& deadline) {
  while (true) {
    Result<sys::Descriptor> fd = net::connect(peer, options, deadline);
    if (fd || fd.error().kind != ErrorKind::Refused || deadline.over()) {
      return fd;
    }
    const Result<> rested =
        net::wait_for(-1, 0, deadline.at_most(kRetryAfter), "connect", peer.text());
    if (!rested && rested.error().kind == ErrorKind::Interrupted) {
      return std::unexpected(rested.error());
    }
  }
}

}  // namespace chokepoint::probe::peer
