#include "probe/quic/test.h"

#include <utility>

#include "base/control/bodies.h"
#include "base/control/deadlines.h"
#include "base/control/test_driver.h"
#include "base/math/units.h"
#include "base/sys/descriptor.h"
#include "probe/quic/connection.h"
#include "probe/quic/endpoint.h"
#include "probe/quic/socket.h"
#include "probe/udp/rendezvous.h"

namespace chokepoint::probe::quic {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Session;
using control::Type;
using net::Deadline;
using std::chrono::milliseconds;

constexpr std::string_view kKind = "quic";

// Without a ticket by then the server gives none.
constexpr milliseconds kTicket{1000};
// For packets that the path still has when the message about the end has come.
constexpr milliseconds kStragglers{50};

double ms_since(std::int64_t start_ns) {
  return static_cast<double>(clock_ns() - start_ns) / math::kNsPerMs;
}

Error interrupted() {
  return {.kind = ErrorKind::Interrupted,
          .operation = "quic",
          .subject = "test",
          .reason = "interrupted before it began"};
}

Result<> check_open(const Endpoint& endpoint, std::string_view peer) {
  if (!endpoint.connection()->is_closed()) {
    return {};
  }
  const std::string reason = endpoint.connection()->close_reason();
  return fail(ErrorKind::Refused, kKind, peer,
              "it closed the QUIC connection" + (reason.empty() ? "" : ": " + reason));
}

// The client's connections until the one that carries the test is ready.
class SetUp {
 public:
  SetUp(Endpoint& endpoint, const Fingerprint& certificate, int interrupt)
      : endpoint_(endpoint),
        server_{.certificate = certificate},
        deadline_(Deadline::of(control::kSetUp, interrupt)) {}

  Result<HandshakeTimes> conduct() {
    HandshakeTimes times;
    TRY(endpoint_.connect(server_, nullptr));
    std::int64_t start = clock_ns();
    TRY(turn_until([&] { return connection().is_ready(); }));
    times.handshake_ms = ms_since(start);
    const std::int64_t give_up = clock_ns() + std::chrono::nanoseconds(kTicket).count();
    TRY(turn_until([&] {
      return connection().is_answered() && (connection().ticket() || clock_ns() > give_up);
    }));
    const std::optional<Ticket> ticket = connection().ticket();
    if (!ticket) {
      return times;
    }
    endpoint_.disconnect();
    TRY(endpoint_.connect(server_, &*ticket));
    start = clock_ns();
    TRY(turn_until([&] { return connection().is_answered(); }));
    times.resumption_ms = ms_since(start);
    TRY(turn_until([&] { return connection().is_ready(); }));
    times.early_data_accepted = connection().has_used_early_data();
    return times;
  }

 private:
  const Connection& connection() const { return *endpoint_.connection(); }

  template <class Reached>
  Result<> turn_until(Reached reached) {
    while (!reached()) {
      if (deadline_.over()) {
        return fail(ErrorKind::Timeout, "quic", "server", "its handshake took too long");
      }
      if (sys::is_readable(deadline_.interrupt)) {
        return fail(interrupted());
      }
      TRY(endpoint_.turn(kTick, deadline_.interrupt));
      TRY(check_open(endpoint_, "server"));
    }
    return {};
  }

  Endpoint& endpoint_;
  Expected server_;
  Deadline deadline_;
};

// Moves packets until the other end sends Begin.
class AwaitBegin final : public control::TestEnd {
 public:
  // `is_open`: the connection is the test's own, and must stay open.
  AwaitBegin(control::Channel& channel, Endpoint& endpoint, bool is_open)
      : TestEnd(channel, kKind), endpoint_(endpoint), is_open_(is_open) {}

  Result<bool> turn(const Deadline& /*deadline*/) override {
    TRY(endpoint_.turn(kTick, channel().descriptor()));
    return ticker_.is_due();
  }
  Result<> receive(const Message& message) override {
    begun_ = message.type == Type::Begin;
    return begun_ ? Result<>{} : fail_out_of_turn(message);
  }
  Result<> look(Deadline& deadline) override {
    if (sys::is_readable(deadline.interrupt)) {
      return fail(interrupted());
    }
    return is_open_ ? check_open(endpoint_, channel().peer()) : Result<>{};
  }
  bool is_done() const override { return begun_; }

 private:
  Endpoint& endpoint_;
  bool is_open_;
  bool begun_ = false;
  Ticker ticker_;
};

// Over once all has arrived.
class ClientSide final : public control::ClientEnd {
 public:
  ClientSide(Client& client, Endpoint& endpoint, const Watcher& watcher)
      : ClientEnd(client, kKind, Ending::ByStop), endpoint_(endpoint), watcher_(watcher) {}

 private:
  Result<bool> turn(const Deadline& /*deadline*/) override {
    if (is_stopped()) {
      endpoint_.drain(kTick, channel().descriptor());
      return true;
    }
    TRY(endpoint_.turn(kTick, channel().descriptor()));
    return ticker_.is_due();
  }
  Result<> take_report(const Json& body) override {
    TRY(const IntervalMeasure interval, interval_in(body));
    watcher_(Side::Server, interval);
    return {};
  }
  Result<> tick() override {
    if (is_stopped()) {
      return {};
    }
    endpoint_.tick([&](const IntervalMeasure& each) { watcher_(Side::Client, each); });
    return has_ended() ? Result<>{} : check_open(endpoint_, channel().peer());
  }
  bool has_ended() const override { return is_stopped() || endpoint_.is_done(); }
  void stop() override { endpoint_.stop(); }

  Endpoint& endpoint_;
  const Watcher& watcher_;
  Ticker ticker_;
};

class ServerSide final : public control::ServerEnd {
 public:
  ServerSide(Session& session, Endpoint& endpoint)
      : ServerEnd(session, kKind), endpoint_(endpoint) {}

 private:
  Result<bool> turn(const Deadline& /*deadline*/) override {
    TRY(endpoint_.turn(kTick, channel().descriptor()));
    return ticker_.is_due();
  }
  Result<> tick() override {
    Result<> sent = {};
    endpoint_.tick([&](const IntervalMeasure& interval) { sent = send_report(body_of(interval)); });
    return sent;
  }
  void stop() override { endpoint_.stop(); }

  Endpoint& endpoint_;
  Ticker ticker_;
};

// The client's side of it is complete: its last flight may still be on its way.
Result<> complete_handshake(Endpoint& endpoint, const std::string& peer, const Deadline& deadline) {
  while (endpoint.connection() == nullptr || !endpoint.connection()->is_ready()) {
    if (endpoint.connection() == nullptr || deadline.over()) {
      return fail(ErrorKind::Malformed, kKind, peer, "it began without a QUIC connection");
    }
    TRY(endpoint.turn(kTick, deadline.interrupt));
  }
  return {};
}

class QuicService final : public control::TestService<Parameters, parameters_in> {
 public:
  std::string_view kind() const override { return kKind; }

 private:
  Result<control::Demand> demand(const Parameters& parameters,
                                 const control::Limits& limits) const override {
    TRY(quic::check(parameters, limits));
    return control::Demand(control::Weight::Heavy, 0, memory_of(parameters));
  }

  Result<Json> run(Session& session, const Parameters& parameters) override {
    TRY(const std::unique_ptr<Identity> identity, Identity::make());
    TRY(udp::Flows flows, udp::meet_client(session, flow_of_test()));
    TRY(Socket socket, Socket::adopt(std::move(flows.flows.front().fd), parameters.segmentation));
    Endpoint endpoint(std::move(socket), parameters, Protocol::Chokepoint, session.context().root,
                      identity.get());
    TRY(session.send(Type::Begin, certificate_body(identity->fingerprint())));
    AwaitBegin begin(session.channel(), endpoint, false);
    TRY(drive(begin, session.deadline(control::kSetUp)));
    TRY(complete_handshake(endpoint, session.channel().peer(), session.deadline(control::kAnswer)));
    endpoint.begin(server_sends(parameters), client_sends(parameters));
    TRY(session.send(Type::Begin));
    TRY(endpoint.start());
    ServerSide side(session, endpoint);
    TRY(drive(side, session.deadline(parameters.time + control::kDrain)));
    endpoint.drain(kStragglers, session.context().stop);
    return body_of(endpoint.half());
  }
};

/** The client's side of a test, from the handshake to the last packet. */
Result<Trial> conduct(Client& client, Endpoint& endpoint, const Fingerprint& certificate,
                      const Parameters& parameters, int interrupt, const Watcher& watcher) {
  Trial trial{.parameters = parameters};
  TRY(trial.times, SetUp(endpoint, certificate, interrupt).conduct());
  endpoint.begin(client_sends(parameters), server_sends(parameters));
  TRY(client.channel().send({Type::Begin}, Deadline::of(control::kAnswer, interrupt)));
  AwaitBegin begun(client.channel(), endpoint, true);
  TRY(drive(begun, Deadline::of(control::kAnswer, interrupt)));
  TRY(endpoint.start());
  ClientSide side(client, endpoint, watcher);
  TRY(drive(side, Deadline::of(parameters.time + control::kDrain, interrupt)));
  TRY(trial.server, half_in(side.result()));
  trial.interrupted = side.is_interrupted();
  trial.client = endpoint.half();
  endpoint.disconnect();
  return trial;
}

}  // namespace

Result<Trial> run(Client& client, const Parameters& parameters, const ClientContext& context,
                  const Watcher& watcher, const control::Waiting& waiting) {
  const int interrupt = context.interrupt;
  TRY(const Json ready, request_test(client, kKind, body_of(parameters), interrupt, waiting));
  const Deadline deadline = Deadline::of(control::kAnswer, interrupt);
  TRY(udp::Flows flows, udp::meet_server(client, flow_of_test(), ready, context.socket, deadline));
  TRY(const Message begin, client.channel().expect(Type::Begin, deadline));
  TRY(const Fingerprint certificate, certificate_in(begin.body));
  TRY(Socket socket, Socket::adopt(std::move(flows.flows.front().fd), parameters.segmentation));
  Endpoint endpoint(std::move(socket), parameters, Protocol::Chokepoint, context.root, nullptr);
  return conduct(client, endpoint, certificate, parameters, interrupt, watcher);
}

std::unique_ptr<control::Service> quic_service() { return std::make_unique<QuicService>(); }

}  // namespace chokepoint::probe::quic
