// What each address family can do towards one host: does the name resolve, is there a route, does a
// TCP connection to the port come about, how fast. Facts only; dual_stack.h judges them. Blocks for
// as long as it is told; one thread.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/net/patience.h"
#include "base/sys/error.h"
#include "probe/path/udp_prober.h"

namespace chokepoint::probe::path {

enum class Connection {
  Untried,      // no address, or no route to it
  Connected,    // somebody listens there
  Refused,      // the host answers, nobody listens
  Unreachable,  // somebody on the way, or this host, says so
  Silent,       // no answer in time
  Failed,       // for a reason of this host's
};

std::string_view name_of(Connection connection);  // "connected"

struct FamilyFacts {
  net::Family family = net::Family::Ipv4;
  std::vector<net::Address> addresses = {};  // what the name resolves to
  std::optional<net::Address> source = {};   // this host's, where there is a route
  Connection connection = Connection::Untried;
  std::string reason = {};                // why not, in a few words
  std::optional<double> connect_ms = {};  // of the handshake, or of the refusal
  bool reached = false;                   // by a trace, whatever became of the connection
  std::optional<double> rtt_ms = {};      // the quickest answer of the target to that trace

  bool resolves() const { return !addresses.empty(); }
  bool answers() const;  // the host answered over this family, be it with a refusal
  bool connects() const { return connection == Connection::Connected; }
};

struct HostFacts {
  std::string name = {};
  bool is_address = false;               // given as one, so there is but one family
  std::optional<net::Family> only = {};  // the other was not asked for
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
                          const net::Patience& patience);

}  // namespace chokepoint::probe::path
