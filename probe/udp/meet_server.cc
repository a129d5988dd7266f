#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/control/fields.h"
#include "base/net/socket.h"
#include "probe/udp/exchange.h"
#include "probe/udp/flow_socket.h"
#include "probe/udp/rendezvous.h"

namespace chokepoint::probe::udp {
namespace {

using control::Json;
using control::Type;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kMeetingTakes{4};
constexpr milliseconds kKnockAgain{200};
constexpr std::size_t kHexDigits = 64;

// One flow's place at the server, as its Ready tells.
struct ServerPlace {
  std::uint16_t port = 0;
  Secret secret = {};
};

Result<ServerPlace> server_place_in(const Json& body) {
  control::Fields in(body, "udp flow");
  const auto port = static_cast<std::uint16_t>(in.integer("port", 1, UINT16_MAX));
  const std::optional<control::Mac> secret = control::from_hex(in.text("secret", kHexDigits));
  if (!secret) {
    return fail(ErrorKind::Malformed, "read message", "udp flow 'secret'", "wanted 64 digits");
  }
  return in.finish(ServerPlace{.port = port, .secret = *secret});
}

Result<std::vector<ServerPlace>> server_places_in(const Json& ready, int flows) {
  const auto list = ready.find("flows");
  if (list == ready.end() || !list->is_array() || list->size() != static_cast<std::size_t>(flows)) {
    return fail(ErrorKind::Malformed, "read message", "udp ready 'flows'", "wanted one a flow");
  }
  std::vector<ServerPlace> places;
  for (const Json& each : *list) {
    TRY(const ServerPlace place, server_place_in(each));
    places.push_back(place);
  }
  return places;
}

// Until the Welcome comes; the secret in it.
Result<Secret> knock(int fd, const PacketHead& hello, const ServerPlace& place,
                     const net::Endpoint& peer, const net::Patience& patience) {
  while (!patience.over()) {
    send_exchange(fd, secret_packet(hello, place.secret));
    const net::Patience once = patience.at_most(kKnockAgain);
    while (true) {
      const Result<> heard = net::wait_for(fd, POLLIN, once, "udp", peer.text());
      if (!heard && heard.error().kind == ErrorKind::Timeout) {
        break;
      }
      if (!heard) {
        return std::unexpected(heard.error());
      }
      const std::optional<Exchanged> answer = receive_exchange(fd);
      if (answer && answer->head.kind == PacketKind::Welcome && answer->head.test == hello.test &&
          answer->head.stream == hello.stream) {
        return *secret_of(answer->packet);
      }
    }
  }
  return fail(ErrorKind::Timeout, "", fmt::format("{} UDP port {}", peer.address.text(), peer.port),
              "no answer over UDP, though TCP works",
              "does a firewall let UDP pass between the two hosts?");
}

Result<Flow> open_one(const net::Endpoint& own, const net::Endpoint& peer,
                      const net::SocketOptions& options, std::int64_t& room_bytes) {
  TRY(sys::Descriptor fd, open_flow(own.address, options, room_bytes));
  TRY(bind_flow_to(fd.get(), peer));
  return Flow{.fd = std::move(fd)};
}

Result<> prove(control::Client& client, Json proofs, const net::Patience& patience) {
  Result<> sent = client.channel().send({Type::Note, {{"proofs", std::move(proofs)}}}, patience);
  if (!sent) {
    return sent;
  }
  const Result<control::Message> agreed = client.channel().expect(Type::Note, patience);
  return agreed ? Result<>{} : std::unexpected(agreed.error());
}

}  // namespace

Result<Flows> meet_server(control::Client& client, const Parameters& parameters, const Json& ready,
                          const net::SocketOptions& options, const net::Patience& patience) {
  const net::Patience meeting = patience.at_most(kMeetingTakes);
  control::Fields in(ready, "udp ready");
  const Result<std::int64_t> test = in.finish(in.integer("test", 0, INT64_MAX));
  const Result<std::vector<ServerPlace>> places = server_places_in(ready, flows_of(parameters));
  const Result<net::Endpoint> own = net::local_endpoint(client.channel().descriptor());
  if (!test || !places || !own) {
    return std::unexpected(!test ? test.error() : !places ? places.error() : own.error());
  }
  Flows flows{.test = static_cast<std::uint64_t>(*test)};
  Json proofs = Json::array();
  for (std::size_t i = 0; i < places->size(); ++i) {
    const net::Endpoint peer{.address = client.peer().address, .port = (*places)[i].port};
    TRY(Flow flow, open_one(*own, peer, options, flows.room_bytes));
    flow.stream = static_cast<std::uint8_t>(i);
    flow.sends = is_upstream(parameters, static_cast<int>(i));
    const PacketHead hello{.kind = PacketKind::Hello, .stream = flow.stream, .test = flows.test};
    TRY(const Secret proof, knock(flow.fd.get(), hello, (*places)[i], peer, meeting));
    proofs.push_back(control::to_hex(proof));
    flows.flows.push_back(std::move(flow));
  }
  const Result<> proved = prove(client, std::move(proofs), meeting);
  return proved ? Result<Flows>(std::move(flows)) : std::unexpected(proved.error());
}

}  // namespace chokepoint::probe::udp
