#include "probe/paths/exchange.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <functional>
#include <span>

#include "base/control/bodies.h"
#include "base/control/deadlines.h"
#include "base/control/test_driver.h"
#include "base/net/socket.h"
#include "probe/udp/data_socket.h"
#include "probe/udp/exchange.h"
#include "probe/udp/packet.h"

namespace chokepoint {

template <>
struct Fields<probe::paths::Parameters> {
  using P = probe::paths::Parameters;
  static constexpr FieldList kList{
      field("flows", &P::flows, "number of flows, each with its own source port")
          .between(probe::paths::kMinFlows, probe::paths::kMaxFlows),
      field("packets", &P::packets, "packets that each flow sends")
          .between(probe::paths::kMinPackets, probe::paths::kMaxPackets),
      field("time_ns", &P::time, "after which the server gives up").between(1, 86'400e9),
      field("bits_per_s", &P::bits_per_s, "rate of all flows together").between(0, 1e12),
      field("port", &P::port, "port of the server's socket; 0: any"),
      field("tcp", &P::tcp, "whether each flow is a connection, one after the other")};
  static const char* wrong(const P& parameters) {
    if (!parameters.tcp && parameters.bits_per_s < 1) {
      return "a rate";
    }
    if (parameters.port != 0 && parameters.port < probe::paths::kMinPort) {
      return "a port from 1024 on, or 0";
    }
    return parameters.flows * parameters.packets > probe::paths::kMaxTotalPackets
               ? "fewer packets of all flows together"
               : nullptr;
  }
};

template <>
struct Fields<probe::paths::ServerReady> {
  using R = probe::paths::ServerReady;
  static constexpr FieldList kList{
      field("test", &R::test, "number that the packets carry").at_most(kMaxCount),
      field("udp_port", &R::udp_port, "where the server receives").at_least(1)};
};

template <>
struct Fields<probe::paths::ServerCounts> {
  using C = probe::paths::ServerCounts;
  static constexpr FieldList kList{
      field("received", &C::received, "packets that arrived of each flow, each counted once")
          .at_most(probe::paths::kMaxPackets)
          .up_to_items(probe::paths::kMaxFlows),
      field("answered", &C::answered, "packets of each flow that the server answered")
          .at_most(probe::paths::kMaxPackets)
          .up_to_items(probe::paths::kMaxFlows),
      field("dropped", &C::dropped, "packets that the server's socket dropped").at_most(kMaxCount)};
};

}  // namespace chokepoint

namespace chokepoint::probe::paths {
namespace {

using control::Json;
using control::Session;
using control::Type;
using udp::Exchanged;
using udp::PacketKind;

// Between two looks at the control connection: any host can send to this socket.
constexpr int kMaxPingsAtOnce = 256;
constexpr int kRoomBytes = 8 << 20;
constexpr std::size_t kSinkBytes = std::size_t{1} << 20;

// What arrives on the sockets is handed to `take` until the client has sent Stop. A socket whose
// descriptor `take` sets to -1 is not watched any more.
Result<> until_stopped(Session& session, const net::Deadline& deadline, std::vector<pollfd> sockets,
                       const std::function<void(std::span<pollfd>)>& take) {
  std::vector<pollfd> watched{{session.channel().descriptor(), POLLIN, 0},
                              {session.context().stop, POLLIN, 0}};
  watched.insert(watched.end(), sockets.begin(), sockets.end());
  return control::until_stopped(session, kKind, deadline, [&]() -> Result<> {
    poll(watched.data(), watched.size(), static_cast<int>(control::kStopInterval.count()));
    take(std::span(watched).subspan(2));
    return {};
  });
}

// Which Pings have arrived, each once.
class Arrivals {
 public:
  explicit Arrivals(const Parameters& parameters)
      : packets_(static_cast<std::uint64_t>(parameters.packets)),
        seen_(static_cast<std::size_t>(parameters.flows) * packets_),
        counts_{
            .received = std::vector<std::uint64_t>(static_cast<std::size_t>(parameters.flows)),
            .answered = std::vector<std::uint64_t>(static_cast<std::size_t>(parameters.flows))} {}

  // False for a packet that is not of this test, or was seen before.
  bool is_new(std::uint64_t sequence) {
    const std::uint64_t flow = flow_of(sequence);
    const std::uint64_t round = round_of(sequence);
    if (flow >= counts_.received.size() || round >= packets_ || seen_[flow * packets_ + round]) {
      return false;
    }
    seen_[flow * packets_ + round] = true;
    ++counts_.received[flow];
    return true;
  }

  void answered(std::uint64_t sequence) { ++counts_.answered[flow_of(sequence)]; }

  ServerCounts counts(std::uint64_t dropped) const {
    ServerCounts counts = counts_;
    counts.dropped = dropped;
    return counts;
  }

 private:
  std::uint64_t packets_;
  std::vector<bool> seen_;
  ServerCounts counts_;
};

class Responder {
 public:
  Responder(Session& session, const Parameters& parameters)
      : session_(session),
        parameters_(parameters),
        deadline_(session.deadline(parameters.time + control::kWindUp)),
        arrivals_(parameters) {}

  Result<> open() {
    TRY(socket_,
        net::bind_udp({.address = session_.local().address, .port = parameters_.port}, {}));
    udp::ask_for_room(socket_.get(), kRoomBytes);
    TRY(udp::prepare_receiving(socket_.get()));
    TRY(const net::Endpoint local, net::local_endpoint(socket_.get()));
    return session_.send(Type::Ready,
                         json::to_json(ServerReady{.test = test_, .udp_port = local.port}));
  }

  Result<Json> serve() {
    TRY(until_stopped(session_, deadline_, {{socket_.get(), POLLIN, 0}},
                      [&](std::span<pollfd>) { answer_pings(); }));
    return json::to_json(arrivals_.counts(udp::queue_drops(socket_.get()).value_or(0)));
  }

 private:
  void answer_pings() {
    for (int i = 0; i < kMaxPingsAtOnce; ++i) {
      const std::optional<Exchanged> ping = udp::receive_exchange(socket_.get());
      if (!ping) {
        return;
      }
      if (ping->head.kind == PacketKind::Ping && ping->head.test == test_ &&
          ping->from.address.unmapped() == session_.peer().address.unmapped()) {
        answer(*ping);
      }
    }
  }

  void answer(const Exchanged& ping) {
    const bool measured = ping.head.run == static_cast<std::uint16_t>(Run::Measured);
    if (measured && !arrivals_.is_new(ping.head.sequence)) {
      return;
    }
    const udp::ExchangePacket pong = udp::pong_packet(
        ping.head,
        {.received_ns = ping.arrived_ns, .answered_ns = session_.context().clock.monotonic_ns()});
    sockaddr_storage to{};
    const socklen_t length = ping.from.to_socket(to);
    const ssize_t sent =
        sendto(socket_.get(), pong.data(), pong.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
               reinterpret_cast<sockaddr*>(&to), length);
    if (measured && sent > 0) {
      arrivals_.answered(ping.head.sequence);
    }
  }

  Session& session_;
  const Parameters& parameters_;
  net::Deadline deadline_;
  std::uint64_t test_ = udp::random_test();
  sys::Descriptor socket_;
  Arrivals arrivals_;
};

// By TCP: drops what arrives over any of the connections, until Stop.
class Sink {
 public:
  Sink(Session& session, const Parameters& parameters)
      : session_(session),
        flows_(parameters.flows),
        deadline_(session.deadline(parameters.time + control::kWindUp)) {}

  Result<> open() {
    TRY(streams_, take_streams(session_, flows_));
    return session_.send(Type::Begin);
  }

  Result<Json> serve() {
    std::vector<pollfd> sockets;
    for (const sys::Descriptor& stream : streams_) {
      sockets.push_back({stream.get(), POLLIN, 0});
    }
    TRY(until_stopped(session_, deadline_, std::move(sockets), [&](std::span<pollfd> streams) {
      for (pollfd& stream : streams) {
        if (stream.revents != 0 && !take(stream.fd)) {
          stream.fd = -1;
        }
      }
    }));
    return Json::object();
  }

 private:
  // False once the client has closed it.
  bool take(int fd) {
    const ssize_t got = recv(fd, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
  }

  Session& session_;
  int flows_;
  net::Deadline deadline_;
  std::vector<sys::Descriptor> streams_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(kSinkBytes);
};

// A light test: it costs as little as the rate that its client chose. By TCP a heavy one.
class PathsService final : public control::TestService<Parameters, parameters_in> {
 public:
  std::string_view kind() const override { return kKind; }

 private:
  Result<control::Demand> demand(const Parameters& parameters,
                                 const control::Limits& limits) const override {
    TRY(control::check_time(limits, parameters.time));
    TRY(control::check_rate(limits, parameters.bits_per_s));
    if (!parameters.tcp) {
      return control::Weight::Light;
    }
    TRY(control::check_streams(limits, parameters.flows));
    return control::Demand(control::Weight::Heavy, 1, kSinkBytes);
  }

  Result<Json> run(Session& session, const Parameters& parameters) override {
    if (parameters.tcp) {
      Sink sink(session, parameters);
      TRY(sink.open());
      return sink.serve();
    }
    Responder responder(session, parameters);
    TRY(responder.open());
    return responder.serve();
  }
};

}  // namespace

Json body_of(const Parameters& parameters) { return json::to_json(parameters); }

Result<Parameters> parameters_in(const Json& body) {
  return json::from_json<Parameters>(body, "paths request");
}

Result<ServerReady> ready_in(const Json& body) {
  return json::from_json<ServerReady>(body, "paths ready");
}

Result<ServerCounts> counts_in(const Json& body, const Parameters& parameters) {
  TRY(ServerCounts counts, json::from_json<ServerCounts>(body, "paths result"));
  const auto flows = static_cast<std::size_t>(parameters.flows);
  if (counts.received.size() != flows || counts.answered.size() != flows) {
    return fail(ErrorKind::Malformed, "read message", "paths result", "wanted an item a flow");
  }
  for (std::size_t i = 0; i < flows; ++i) {
    if (counts.received[i] > static_cast<std::uint64_t>(parameters.packets) ||
        counts.answered[i] > counts.received[i]) {
      return fail(ErrorKind::Malformed, "read message", "paths result",
                  "counts more packets than there are");
    }
  }
  return counts;
}

std::unique_ptr<control::Service> paths_service() { return std::make_unique<PathsService>(); }

}  // namespace chokepoint::probe::paths
