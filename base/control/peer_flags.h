// The flags by which every probe finds its peer, and the connection they lead to.
#pragma once

#include <optional>
#include <string>

#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/control/client.h"

namespace chokepoint::control {

struct PeerFlags {
  std::string host = {};  // HOST or HOST:PORT
  std::int64_t port = kPort;
  std::string key_file = {};
  std::string bind = {};
  std::string interface = {};
  bool ipv4 = false;
  bool ipv6 = false;
};

void define(cli::Flags& flags, PeerFlags& peer);

// Address and family as asked for; mistakes are of kind Usage.
Result<ClientOptions> client_options(const PeerFlags& peer, const cli::Context& context);

// Connects within ten seconds. `interrupt`: readable once the user wants it to end.
Result<Client> connect(const PeerFlags& peer, const cli::Context& context, int interrupt);

// "peer" of the probes' documents: {host, address, family, port}.
Json peer_body(const PeerFlags& peer, const Client& client);

}  // namespace chokepoint::control
