#include "base/control/client.h"

#include <fmt/format.h>

#include "base/control/message.h"
#include "base/net/address.h"
#include "base/net/resolver.h"
#include "base/net/socket.h"
#include "base/sys/root.h"

namespace chokepoint::control {
namespace {

using net::Deadline;
using std::chrono::seconds;

constexpr seconds kGoodbye{1};

struct Connected {
  sys::Descriptor fd;
  net::Endpoint peer;
};

Result<Connected> connect_to_any(const ClientOptions& options, const Deadline& deadline) {
  TRY(const std::vector<net::Address> addresses,
      net::resolve_within(options.peer.host, options.family, deadline));
  net::SocketOptions socket = options.socket;
  socket.mss = kSegmentBytes;
  std::optional<Error> first;
  for (const net::Address& address : addresses) {
    const net::Endpoint peer{address, options.peer.port};
    Result<sys::Descriptor> fd = net::connect(peer, socket, deadline.at_most(kConnectToAddress));
    if (fd) {
      return Connected{std::move(*fd), peer};
    }
    if (fd.error().kind == ErrorKind::Interrupted) {
      return std::unexpected(fd.error());
    }
    if (!first) {
      first = with_advice(fd.error(), peer);
    }
  }
  return fail(*first);
}

// The first message on a connection that carries other bytes after it.
Result<Message> receive_on(int fd, const Deadline& deadline, const std::string& peer) {
  FrameReader reader(kMaxBeforeHandshake);
  while (true) {
    TRY(const std::size_t got, net::receive_some(fd, reader.wanted(), deadline, peer));
    if (got == 0) {
      return fail(ErrorKind::Refused, "receive", peer, "it closed the connection");
    }
    TRY(std::optional<Message> message, reader.took(got));
    if (message) {
      return std::move(*message);
    }
  }
}

Result<Admittance> shake_hands(Channel& channel, ClientHandshake& handshake,
                               const Deadline& deadline) {
  TRY(channel.send(handshake.hello(), deadline));
  TRY(const Message welcome, channel.expect(Type::Welcome, deadline));
  TRY(const Message proof, handshake.proof(welcome));
  channel.seal(Seal(handshake.keys().to_server), Seal(handshake.keys().to_client));
  TRY(channel.send(proof, deadline));
  const Result<Message> answer = channel.expect(Type::Admitted, deadline);
  return answer ? handshake.admitted(*answer) : std::unexpected(answer.error());
}

}  // namespace

Result<Client> Client::connect(const ClientOptions& options, const Deadline& deadline) {
  TRY(Connected connected, connect_to_any(options, deadline));
  const net::Endpoint peer = connected.peer;
  TRY(net::end_on_silence(connected.fd.get(), kSilence));
  Channel channel(std::move(connected.fd),
                  fmt::format("{} port {}", peer.address.text(), peer.port), kMaxFromServer);
  ClientHandshake handshake(options.own, options.key);
  Result<Admittance> admittance =
      shake_hands(channel, handshake, deadline.at_most(kConnectToAddress));
  if (!admittance) {
    return fail(explained(admittance.error()));
  }
  return Client(std::move(channel), peer, std::move(*admittance), options);
}

Result<Json> Client::request(const std::string& kind, Json parameters, const Deadline& deadline,
                             const Waiting& waiting) {
  const Message request{Type::Request, {{"kind", kind}, {"parameters", std::move(parameters)}}};
  TRY(channel_.send(request, deadline));
  ++tests_;
  while (true) {
    TRY(Message answer, channel_.receive(deadline));
    if (answer.type == Type::Ready) {
      return std::move(answer.body);
    }
    if (answer.type != Type::Queued) {
      return fail(error_in(answer.body, channel_.peer()));
    }
    waiting(error_in(answer.body, channel_.peer()).reason);
  }
}

Result<sys::Descriptor> Client::attach(int index, net::SocketOptions options,
                                       const Deadline& deadline) const {
  options.source = socket_.source;
  options.interface = socket_.interface;
  Result<sys::Descriptor> fd = net::connect(peer_, options, deadline);
  if (!fd) {
    return fail(with_advice(fd.error(), peer_));
  }
  const std::string frame =
      encode(control::attach(admittance_.session, admittance_.secret, tests_, index));
  const Result<> sent =
      net::send_all(fd->get(), std::as_bytes(std::span(frame)), deadline, channel_.peer());
  return sent ? std::move(fd) : std::unexpected(sent.error());
}

Result<Opened> Client::attach_anew(int index, std::span<const std::byte> request,
                                   const net::Deadline& deadline) const {
  using Clock = net::Deadline::Clock;
  net::SocketOptions options = socket_;
  options.mss = kSegmentBytes;
  options.no_delay = true;
  ClientHandshake handshake(own_, key_);
  const auto begun = Clock::now();
  Result<sys::Descriptor> fd = net::connect(peer_, options, deadline);
  if (!fd) {
    return fail(with_advice(fd.error(), peer_));
  }
  const auto connected = Clock::now();
  const auto send = [&](const std::string& frame) {
    return net::send_all(fd->get(), std::as_bytes(std::span(frame)), deadline, channel_.peer());
  };
  TRY(send(encode(handshake.hello())));
  TRY(const Message welcome, receive_on(fd->get(), deadline, channel_.peer()));
  TRY(handshake.proof(welcome));
  const auto agreed = Clock::now();
  Seal seal(handshake.keys().to_server);
  std::string last =
      encode(control::attach(admittance_.session, admittance_.secret, tests_, index), seal);
  last.append(reinterpret_cast<const char*>(request.data()), request.size());
  TRY(send(last));
  return Opened{.fd = std::move(*fd),
                .connecting = connected - begun,
                .agreeing = agreed - connected,
                .asked = agreed};
}

void Client::bye() { std::ignore = channel_.send({Type::Bye}, Deadline::of(kGoodbye)); }

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
  // Errors of this side's own socket options name the option.
  if (error.operation != "connect") {
    return error;
  }
  error.operation.clear();
  error.subject = fmt::format("{} port {}", peer.address.text(), peer.port);
  error.next_step = advice_for(error, peer);
  return error;
}

Error explained(Error error) {
  if (error.kind == ErrorKind::Malformed && error.next_step.empty()) {
    error.next_step = "does another program listen on that port? give chokepoint's with --port";
  } else if (error.kind == ErrorKind::Timeout) {
    error.reason = "it accepted the connection but sent nothing";
    error.next_step =
        "is it 'chokepoint serve' that listens there? 'nuttcp -S' waits like this: --peer-program "
        "nuttcp";
  }
  return error;
}

Result<std::optional<net::Family>> family_of(bool ipv4, bool ipv6) {
  if (ipv4 && ipv6) {
    return fail(ErrorKind::Usage, "", "--ipv4, --ipv6", "give only one of them",
                "without either both families are tried");
  }
  return ipv4   ? std::optional(net::Family::Ipv4)
         : ipv6 ? std::optional(net::Family::Ipv6)
                : std::nullopt;
}

void define(cli::Flags& flags, PeerFlags& peer) {
  flags.positional("HOST", &peer.host, "the peer that runs 'chokepoint serve': HOST or HOST:PORT");
  flags.group("How to reach the peer")
      .option("port,p", &peer.port, "PORT", "control port of the peer", 1, 65535)
      .toggle("ipv4,4", &peer.ipv4, "IPv4 only")
      .toggle("ipv6,6", &peer.ipv6, "IPv6 only")
      .option("bind", &peer.bind, "ADDRESS", "local address to use")
      .option("interface", &peer.interface, "IF", "local interface to use")
      .option("key-file", &peer.key_file, "FILE",
              "the server's key, or a folder with a key named as each host");
}

Result<ClientOptions> client_options(const PeerFlags& peer, const cli::Context& context) {
  TRY(const net::HostPort host,
      net::parse_host_port(peer.host, static_cast<std::uint16_t>(peer.port)));
  TRY(const std::optional<net::Family> family, family_of(peer.ipv4, peer.ipv6));
  ClientOptions options{
      .peer = host,
      .family = family,
      .own = {.program = "chokepoint " + context.version, .host = sys::host_name(context.root)}};
  options.socket.interface = peer.interface;
  if (!peer.bind.empty()) {
    TRY(const net::Address source, net::Address::parse(peer.bind));
    if (family && *family != source.family()) {
      return fail(ErrorKind::Usage, "", "--bind " + peer.bind,
                  fmt::format("is an address of the other family than --{}", net::name_of(*family)),
                  "give only one of them");
    }
    options.socket.source = source;
    // A socket of one family cannot connect to the other.
    options.family = source.family();
  }
  if (!peer.key_file.empty()) {
    TRY(const Secret key, read_key_for(peer.key_file, host.host));
    options.key = key;
  }
  return options;
}

Result<Client> connect(const PeerFlags& peer, const cli::Context& context, int interrupt) {
  TRY(const ClientOptions options, client_options(peer, context));
  return Client::connect(options, net::Deadline::of(kConnect, interrupt));
}

documents::Peer peer_of(const PeerFlags& peer, const Client& client) {
  const net::Endpoint& endpoint = client.peer();
  return {.host = peer.host,
          .address = endpoint.address.text(),
          .family = endpoint.address.family(),
          .port = endpoint.port,
          .name = client.admittance().server.host,
          .software = client.admittance().server.program};
}

}  // namespace chokepoint::control
