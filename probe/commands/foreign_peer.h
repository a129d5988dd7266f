// --peer: probes against a server that this project did not write, told in the same words as
// against its own. What such a server does not tell is null.
#pragma once

#include <string>

#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/cli/output.h"
#include "base/control/client.h"
#include "probe/tcp/trial.h"

namespace chokepoint::probe {

enum class Foreign { None, Iperf3, Nuttcp };

// The flag's text: "chokepoint", "iperf3", "nuttcp".
std::vector<std::string> peer_programs();
Foreign foreign_named(const std::string& program);

struct ForeignHost {
  net::HostPort peer;
  std::optional<net::Family> family = {};
  net::SocketOptions socket = {};
};

// The default port is the program's. A key is a mistake: neither program knows any.
Result<ForeignHost> foreign_host(Foreign foreign, const control::PeerFlags& peer,
                                 const cli::Context& context);

// "peer" of the probes' documents.
cli::Json foreign_body(const control::PeerFlags& flags, const net::Endpoint& peer,
                       const std::string& software);

struct ForeignTrial {
  tcp::Trial trial;
  net::Endpoint peer;
  std::string software;  // "iperf3": it does not tell its version; "nuttcp 6.1.2"
};

// Where the receiver tells no intervals the sender's stand for them.
Result<ForeignTrial> run_foreign(Foreign foreign, const ForeignHost& host,
                                 const tcp::Parameters& parameters, const cli::Context& context,
                                 int interrupt, const tcp::Watcher& watcher);

}  // namespace chokepoint::probe
