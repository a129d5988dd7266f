#include "base/control/peer_flags.h"

#include <fmt/format.h>

#include "base/sys/host_name.h"

namespace chokepoint::control {
namespace {

constexpr std::chrono::seconds kConnect{10};

std::optional<net::Family> family_of(const PeerFlags& peer) {
  if (peer.ipv4 == peer.ipv6) {
    return std::nullopt;
  }
  return peer.ipv4 ? net::Family::Ipv4 : net::Family::Ipv6;
}

}  // namespace

void define(cli::Flags& flags, PeerFlags& peer) {
  flags.positional("HOST", &peer.host,
                   "the peer, where 'chokepoint serve' runs: HOST or HOST:PORT");
  flags.group("How to reach the peer")
      .option("port,p", &peer.port, "PORT", "its control port", 1, 65535)
      .toggle("ipv4,4", &peer.ipv4, "IPv4 only")
      .toggle("ipv6,6", &peer.ipv6, "IPv6 only")
      .option("bind", &peer.bind, "ADDRESS", "use this address of this host")
      .option("interface", &peer.interface, "IF", "use this interface of this host")
      .option("key-file", &peer.key_file, "FILE", "the key that the server was given");
}

Result<ClientOptions> client_options(const PeerFlags& peer, const cli::Context& context) {
  const Result<net::HostPort> host =
      net::parse_host_port(peer.host, static_cast<std::uint16_t>(peer.port));
  if (!host) {
    return std::unexpected(host.error());
  }
  ClientOptions options{
      .peer = *host,
      .family = family_of(peer),
      .own = {.program = "chokepoint " + context.version, .host = sys::host_name(context.root)}};
  options.socket.interface = peer.interface;
  if (!peer.bind.empty()) {
    const Result<net::Address> source = net::Address::parse(peer.bind);
    if (!source) {
      return std::unexpected(source.error());
    }
    options.socket.source = *source;
    // An address of one family cannot speak to the other.
    options.family = source->family();
  }
  if (!peer.key_file.empty()) {
    const Result<Secret> key = read_key(peer.key_file);
    if (!key) {
      return std::unexpected(key.error());
    }
    options.key = *key;
  }
  return options;
}

Result<Client> connect(const PeerFlags& peer, const cli::Context& context, int interrupt) {
  const Result<ClientOptions> options = client_options(peer, context);
  if (!options) {
    return std::unexpected(options.error());
  }
  return Client::connect(*options, net::Patience::of(kConnect, interrupt));
}

Json peer_body(const PeerFlags& peer, const Client& client) {
  const net::Endpoint& endpoint = client.peer();
  return {{"host", peer.host},
          {"address", endpoint.address.text()},
          {"family", net::name_of(endpoint.address.family())},
          {"port", endpoint.port},
          {"name", client.admittance().server.host},
          {"software", client.admittance().server.program}};
}

}  // namespace chokepoint::control
