#include "base/control/client.h"

#include <fmt/format.h>

#include "base/control/advice.h"
#include "base/control/wire_error.h"
#include "base/net/liveness.h"
#include "base/net/resolve.h"
#include "base/sys/late.h"

namespace chokepoint::control {
namespace {

using net::Patience;
using std::chrono::milliseconds;
using std::chrono::seconds;

// A host that is up answers its SYN at once, one far away within a second.
constexpr seconds kOneAddress{5};
constexpr seconds kGoodbye{1};

Result<std::vector<net::Address>> resolve(const ClientOptions& options, const Patience& patience) {
  sys::Late<Result<std::vector<net::Address>>> late(
      [host = options.peer.host, family = options.family] { return net::resolve(host, family); });
  // In slices, since a lookup cannot be interrupted and the wait for it can.
  while (!patience.over()) {
    if (std::optional<Result<std::vector<net::Address>>> found =
            late.by(Patience::Clock::now() + milliseconds(50))) {
      return std::move(*found);
    }
    const Result<> going = net::wait_for(-1, 0, patience.at_most({}), "resolve", options.peer.host);
    if (!going && going.error().kind == ErrorKind::Interrupted) {
      return std::unexpected(going.error());
    }
  }
  return fail(ErrorKind::Timeout, "resolve", options.peer.host, "no name server answered in time",
              "give an address, or mend /etc/resolv.conf");
}

struct Connected {
  sys::Descriptor fd;
  net::Endpoint peer;
};

Result<Connected> connect_to_any(const ClientOptions& options, const Patience& patience) {
  const Result<std::vector<net::Address>> addresses = resolve(options, patience);
  if (!addresses) {
    return std::unexpected(addresses.error());
  }
  net::SocketOptions socket = options.socket;
  socket.mss = kSegmentBytes;
  std::optional<Error> first;
  for (const net::Address& address : *addresses) {
    const net::Endpoint peer{address, options.peer.port};
    Result<sys::Descriptor> fd = net::connect(peer, socket, patience.at_most(kOneAddress));
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

Result<Admittance> shake_hands(Channel& channel, ClientHandshake& handshake,
                               const Patience& patience) {
  if (const Result<> sent = channel.send(handshake.hello(), patience); !sent) {
    return std::unexpected(sent.error());
  }
  const Result<Message> welcome = channel.expect(Type::Welcome, patience);
  if (!welcome) {
    return std::unexpected(welcome.error());
  }
  const Result<Message> proof = handshake.proof(*welcome);
  if (!proof) {
    return std::unexpected(proof.error());
  }
  if (const Result<> sent = channel.send(*proof, patience); !sent) {
    return std::unexpected(sent.error());
  }
  const Result<Message> answer = channel.expect(Type::Admitted, patience);
  return answer ? handshake.admitted(*answer) : std::unexpected(answer.error());
}

}  // namespace

Result<Client> Client::connect(const ClientOptions& options, const Patience& patience) {
  Result<Connected> connected = connect_to_any(options, patience);
  if (!connected) {
    return std::unexpected(connected.error());
  }
  const net::Endpoint peer = connected->peer;
  if (const Result<> watched = net::end_on_silence(connected->fd.get(), kSilence); !watched) {
    return std::unexpected(watched.error());
  }
  Channel channel(std::move(connected->fd),
                  fmt::format("{} port {}", peer.address.text(), peer.port), kMostFromServer);
  ClientHandshake handshake(options.own, options.key);
  Result<Admittance> admittance = shake_hands(channel, handshake, patience.at_most(kOneAddress));
  if (!admittance) {
    return fail(explained(admittance.error()));
  }
  return Client(std::move(channel), peer, std::move(*admittance), options.socket);
}

Result<Json> Client::request(const std::string& kind, Json parameters, const Patience& patience,
                             const Waiting& waiting) {
  const Message request{Type::Request, {{"kind", kind}, {"parameters", std::move(parameters)}}};
  if (const Result<> sent = channel_.send(request, patience); !sent) {
    return std::unexpected(sent.error());
  }
  while (true) {
    Result<Message> answer = channel_.receive(patience);
    if (!answer) {
      return std::unexpected(answer.error());
    }
    if (answer->type == Type::Ready) {
      return std::move(answer->body);
    }
    if (answer->type != Type::Queued) {
      return fail(error_in(answer->body, channel_.peer()));
    }
    waiting(error_in(answer->body, channel_.peer()).reason);
  }
}

Result<sys::Descriptor> Client::attach(int index, net::SocketOptions options,
                                       const Patience& patience) const {
  options.source = socket_.source;
  options.interface = socket_.interface;
  Result<sys::Descriptor> fd = net::connect(peer_, options, patience);
  if (!fd) {
    return fail(with_advice(fd.error(), peer_));
  }
  const std::string frame = encode(control::attach(admittance_.session, admittance_.secret, index));
  const Result<> sent =
      net::send_all(fd->get(), std::as_bytes(std::span(frame)), patience, channel_.peer());
  return sent ? std::move(fd) : std::unexpected(sent.error());
}

void Client::bye() { std::ignore = channel_.send({Type::Bye}, Patience::of(kGoodbye)); }

}  // namespace chokepoint::control
