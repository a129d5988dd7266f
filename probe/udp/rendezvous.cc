#include "probe/udp/rendezvous.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>

#include "base/control/bodies.h"
#include "base/control/deadlines.h"
#include "probe/udp/data_socket.h"
#include "probe/udp/exchange.h"

namespace chokepoint {
namespace probe::udp {
namespace {

// The server's Ready: one flow, and the test with all of them.
struct OfferedFlow {
  std::uint16_t port = 0;
  Secret secret = {};
};

struct ServerReady {
  std::uint64_t test = 0;
  std::vector<OfferedFlow> flows = {};
};

}  // namespace
}  // namespace probe::udp

template <>
struct Fields<probe::udp::OfferedFlow> {
  using P = probe::udp::OfferedFlow;
  static constexpr FieldList kList{field("port", &P::port).at_least(1),
                                   field("secret", &P::secret)};
};

template <>
struct Fields<probe::udp::ServerReady> {
  using R = probe::udp::ServerReady;
  static constexpr FieldList kList{field("test", &R::test).at_most(kMaxCount),
                                   field("flows", &R::flows)};
};

}  // namespace chokepoint

namespace chokepoint::probe::udp {
namespace {

using control::Json;
using control::Message;
using control::Type;
using std::chrono::milliseconds;
using std::chrono::seconds;

// What a 100 Gb/s stream delivers while its receiver's thread is descheduled for two milliseconds.
constexpr int kRoomBytes = 32 << 20;
// How soon a blocked thread notices that it shall stop.
constexpr std::chrono::milliseconds kBlocked{20};

constexpr seconds kMeeting{10};
// A client that lost this many Welcomes has no path.
constexpr int kMaxWelcomes = 100;

// One flow that waits for its client.
struct WaitingFlow {
  sys::Descriptor fd;
  std::uint16_t port = 0;
  Secret secret = control::random_secret();
  Secret proof = control::random_secret();
  bool met = false;
  int welcomes = 0;
};

Result<WaitingFlow> open_waiting(const control::Session& session, std::int64_t& room_bytes) {
  WaitingFlow flow;
  TRY(flow.fd, open_flow(session.local().address, {}, room_bytes));
  TRY(const net::Endpoint local, net::local_endpoint(flow.fd.get()));
  flow.port = local.port;
  return flow;
}

class Meeting {
 public:
  Meeting(control::Session& session, const Parameters& parameters)
      : session_(session), parameters_(parameters), deadline_(session.deadline(kMeeting)) {}

  Result<Flows> hold() {
    TRY(open());
    TRY(session_.channel().send({Type::Ready, ready()}, deadline_));
    TRY(await_proofs());
    TRY(session_.channel().send({Type::Note, Json::object()}, deadline_));
    return flows();
  }

 private:
  Result<> open() {
    for (int i = 0; i < flows_of(parameters_); ++i) {
      TRY(WaitingFlow flow, open_waiting(session_, room_bytes_));
      waiting_.push_back(std::move(flow));
    }
    return {};
  }

  Json ready() const {
    ServerReady ready{.test = test_};
    for (const WaitingFlow& flow : waiting_) {
      ready.flows.push_back({.port = flow.port, .secret = flow.secret});
    }
    return json::to_json(ready);
  }

  // Answers Hellos until the client has sent the proofs from the Welcomes.
  Result<> await_proofs() {
    while (true) {
      TRY(const std::optional<Message> message, session_.channel().poll());
      if (message) {
        return check_proofs(*message);
      }
      greet_all();
      TRY(wait());
    }
  }

  void greet_all() {
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      // No more at once: any host can send to this socket, and the deadline must be looked at.
      for (int packet = 0; packet < kMaxWelcomes; ++packet) {
        const std::optional<Exchanged> hello = receive_exchange(waiting_[i].fd.get());
        if (!hello) {
          break;
        }
        greet(waiting_[i], static_cast<std::uint8_t>(i), *hello);
      }
    }
  }

  void greet(WaitingFlow& flow, std::uint8_t stream, const Exchanged& hello) const {
    const PacketHead& head = hello.head;
    if (head.kind != PacketKind::Hello || head.test != test_ || head.stream != stream ||
        hello.from.address.unmapped() != session_.peer().address.unmapped() ||
        !control::same(*secret_of(hello.packet), flow.secret) || ++flow.welcomes > kMaxWelcomes) {
      return;
    }
    if (!flow.met && !bind_flow_to(flow.fd.get(), hello.from)) {
      return;
    }
    flow.met = true;
    PacketHead welcome = head;
    welcome.kind = PacketKind::Welcome;
    send_exchange(flow.fd.get(), secret_packet(welcome, flow.proof));
  }

  Result<> wait() const {
    std::vector<pollfd> watched{{session_.channel().descriptor(), POLLIN, 0},
                                {session_.context().stop, POLLIN, 0}};
    for (const WaitingFlow& flow : waiting_) {
      watched.push_back({flow.fd.get(), POLLIN, 0});
    }
    poll(watched.data(), watched.size(), static_cast<int>(control::kMessageInterval.count()));
    if (watched[1].revents != 0) {
      return fail(ErrorKind::Interrupted, "udp", session_.channel().peer(), "the server stops");
    }
    if (deadline_.over()) {
      return fail(ErrorKind::Timeout, "udp", session_.channel().peer(),
                  "no UDP came from the client's address", "does a firewall let UDP pass?");
    }
    return {};
  }

  Result<> check_proofs(const Message& message) const {
    const auto proofs = json::field_in<std::vector<Secret>>(message.body, "proofs", "udp proofs");
    if (message.type != Type::Note || !proofs || proofs->size() != waiting_.size()) {
      return fail(ErrorKind::Malformed, "udp", session_.channel().peer(),
                  "it did not prove itself");
    }
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      if (!waiting_[i].met || !control::same((*proofs)[i], waiting_[i].proof)) {
        return fail(ErrorKind::Refused, "udp", session_.channel().peer(),
                    "a wrong proof of its UDP address");
      }
    }
    return {};
  }

  Flows flows() {
    Flows flows{.test = test_, .room_bytes = room_bytes_};
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      flows.flows.push_back({.fd = std::move(waiting_[i].fd),
                             .stream = static_cast<std::uint8_t>(i),
                             .sends = !is_upstream(parameters_, static_cast<int>(i))});
    }
    return flows;
  }

  control::Session& session_;
  const Parameters& parameters_;
  net::Deadline deadline_;
  std::uint64_t test_ = random_test();
  std::int64_t room_bytes_ = 0;
  std::vector<WaitingFlow> waiting_;
};

constexpr seconds kClientMeeting{4};
constexpr milliseconds kRepeatHello{200};

// Repeats the Hello until its Welcome arrives. Returns the proof in it.
Result<Secret> await_welcome(int fd, const PacketHead& hello, const OfferedFlow& flow,
                             const net::Endpoint& peer, const net::Deadline& deadline) {
  while (!deadline.over()) {
    send_exchange(fd, secret_packet(hello, flow.secret));
    const net::Deadline once = deadline.at_most(kRepeatHello);
    while (true) {
      const Result<> readable = net::wait_for(fd, POLLIN, once, "udp", peer.text());
      if (!readable && readable.error().kind == ErrorKind::Timeout) {
        break;
      }
      if (!readable) {
        return std::unexpected(readable.error());
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

Result<> prove(control::Client& client, Json proofs, const net::Deadline& deadline) {
  TRY(client.channel().send({Type::Note, {{"proofs", std::move(proofs)}}}, deadline));
  TRY(client.channel().expect(Type::Note, deadline));
  return {};
}

}  // namespace

Result<sys::Descriptor> open_flow(const net::Address& local, const net::SocketOptions& options,
                                  std::int64_t& room_bytes) {
  TRY(sys::Descriptor fd, net::bind_udp({.address = local, .port = 0}, options));
  room_bytes = std::max(room_bytes, ask_for_room(fd.get(), kRoomBytes));
  TRY(prepare_receiving(fd.get()));
  return fd;
}

Result<> bind_flow_to(int fd, const net::Endpoint& peer) {
  TRY(net::connect_udp(fd, peer));
  TRY(prepare_sending(fd));
  return net::set_blocking(fd, kBlocked, kBlocked);
}

Result<Flows> meet_client(control::Session& session, const Parameters& parameters) {
  return Meeting(session, parameters).hold();
}

Result<Flows> meet_server(control::Client& client, const Parameters& parameters, const Json& ready,
                          const net::SocketOptions& options, const net::Deadline& deadline) {
  const net::Deadline meeting = deadline.at_most(kClientMeeting);
  TRY(const ServerReady server, json::from_json<ServerReady>(ready, "udp ready"));
  const std::vector<OfferedFlow>& offered = server.flows;
  if (offered.size() != static_cast<std::size_t>(flows_of(parameters))) {
    return fail(ErrorKind::Malformed, "read message", "udp ready 'flows'", "wanted one a flow");
  }
  TRY(const net::Endpoint own, net::local_endpoint(client.channel().descriptor()));
  Flows flows{.test = server.test};
  Json proofs = Json::array();
  for (std::size_t i = 0; i < offered.size(); ++i) {
    const net::Endpoint peer{.address = client.peer().address, .port = offered[i].port};
    TRY(Flow flow, open_one(own, peer, options, flows.room_bytes));
    flow.stream = static_cast<std::uint8_t>(i);
    flow.sends = is_upstream(parameters, static_cast<int>(i));
    const PacketHead hello{.kind = PacketKind::Hello, .stream = flow.stream, .test = flows.test};
    TRY(const Secret proof, await_welcome(flow.fd.get(), hello, offered[i], peer, meeting));
    proofs.push_back(control::to_hex(proof));
    flows.flows.push_back(std::move(flow));
  }
  TRY(prove(client, std::move(proofs), meeting));
  return flows;
}

}  // namespace chokepoint::probe::udp
