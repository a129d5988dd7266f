// What works over each address family towards one host: whether the name resolves, whether there
// is a route, whether a TCP connection to the port succeeds and how fast; and the judgement of
// these facts. examine() blocks up to its deadline; one thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/documents/connection.h"
#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/sys/error.h"
#include "probe/path/udp_prober.h"

namespace chokepoint::probe::path {

using chokepoint::name_of;
using documents::Connection;

struct FamilyFacts {
  net::Family family = net::Family::Ipv4;
  std::vector<net::Address> addresses = {};  // what the name resolves to
  std::optional<net::Address> source = {};   // this host's, where there is a route
  Connection connection = Connection::Untried;
  std::string reason = {};                // why not, in a few words
  std::optional<double> connect_ms = {};  // of the handshake, or of the refusal
  bool reached = false;                   // by a trace, even without a connection
  std::optional<double> rtt_ms = {};      // the target's fastest answer to that trace

  bool resolves() const { return !addresses.empty(); }
  bool answers() const;  // the host answered over this family, perhaps with a refusal
  bool connects() const { return connection == Connection::Connected; }
};

struct HostFacts {
  std::string name = {};
  bool is_address = false;               // given as an address, so there is only one family
  std::optional<net::Family> only = {};  // the family that the user asked for
  std::uint16_t port = 0;
  std::vector<net::Address> in_order = {};  // as programs try them
  FamilyFacts ipv4{.family = net::Family::Ipv4};
  FamilyFacts ipv6{.family = net::Family::Ipv6};

  const FamilyFacts& of(net::Family family) const {
    return family == net::Family::Ipv4 ? ipv4 : ipv6;
  }
};

struct FamilyOptions {
  std::optional<net::Family> only = {};
  Origin origin = {};
  std::chrono::milliseconds connect_wait{2000};
};

Result<HostFacts> examine(const std::string& host, std::uint16_t port, const FamilyOptions& options,
                          const net::Deadline& deadline);

// The dual-stack trap: a name resolves to IPv4 and IPv6 addresses, but only one family works, or
// the peer listens on one only. A program that uses the other one fails, or hangs until it gives
// up; torch RPC uses IPv4 even if configured for IPv6. One sentence about the problem and one about
// the fix; nullopt where there is no problem.
std::optional<std::string> dual_stack_finding(const HostFacts& host);

}  // namespace chokepoint::probe::path
