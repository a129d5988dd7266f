// The client's end of a control connection: finds the server, is admitted, requests tests, and
// opens a test's data connections. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/control/channel.h"
#include "base/control/handshake.h"
#include "base/documents/peer.h"
#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/net/socket.h"
#include "base/sys/error.h"

namespace chokepoint::control {

struct ClientOptions {
  net::HostPort peer;
  std::optional<net::Family> family = {};  // nothing: both, in the resolver's order
  std::optional<Secret> key = {};
  net::SocketOptions socket = {};  // source address and interface of every connection
  Identity own = {};
};

// What the server reports while the client waits for its turn.
using Waiting = std::function<void(const std::string& why)>;

// A data connection that opened as a client does, and how long that took.
struct Opened {
  sys::Descriptor fd;
  std::chrono::nanoseconds connecting;     // TCP's handshake
  std::chrono::nanoseconds agreeing;       // from Hello until both ends' keys are known here
  net::Deadline::Clock::time_point asked;  // when Attach and what follows it began to be sent
};

class Client {
 public:
  static Result<Client> connect(const ClientOptions& options, const net::Deadline& deadline);

  Channel& channel() { return channel_; }
  const net::Endpoint& peer() const { return peer_; }
  const Admittance& admittance() const { return admittance_; }

  // Asks for a test and waits for its turn. The body of the server's Ready.
  Result<Json> request(const std::string& kind, Json parameters, const net::Deadline& deadline,
                       const Waiting& waiting);
  // A data connection of the test asked for last.
  Result<sys::Descriptor> attach(int index, net::SocketOptions options,
                                 const net::Deadline& deadline) const;
  // The same after a handshake of its own: Attach takes the place of Proof, and `request`, which is
  // the test's, goes in the same packet. Any thread.
  Result<Opened> attach_anew(int index, std::span<const std::byte> request,
                             const net::Deadline& deadline) const;
  // Ends politely; a client that is just dropped is understood, too.
  void bye();

 private:
  Client(Channel channel, net::Endpoint peer, Admittance admittance, const ClientOptions& options)
      : channel_(std::move(channel)),
        peer_(peer),
        admittance_(std::move(admittance)),
        socket_(options.socket),
        own_(options.own),
        key_(options.key) {}

  Channel channel_;
  net::Endpoint peer_;
  Admittance admittance_;
  net::SocketOptions socket_;
  Identity own_;
  std::optional<Secret> key_;
  std::uint64_t tests_ = 0;  // asked for so far
};

// What a user can do about a server that is not reached, or does not answer as one. Pure functions.

// About connecting: who it was, as people write it, and the next step. Others stay as they are.
Error with_advice(Error error, const net::Endpoint& peer);
// About the handshake on a connection that was taken.
Error explained(Error error);

// The flags by which every probe finds its peer, and the connection they lead to.

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

// What --ipv4 and --ipv6 ask for; both together are a mistake.
Result<std::optional<net::Family>> family_of(bool ipv4, bool ipv6);

// Address and family as asked for; mistakes are of kind Usage.
Result<ClientOptions> client_options(const PeerFlags& peer, const cli::Context& context);

// Connects within ten seconds. `interrupt`: readable once the user wants it to end.
Result<Client> connect(const PeerFlags& peer, const cli::Context& context, int interrupt);

// The other end, as the probes' documents name it.
documents::Peer peer_of(const PeerFlags& peer, const Client& client);

}  // namespace chokepoint::control
