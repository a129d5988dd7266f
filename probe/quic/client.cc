#include <utility>

#include "base/control/bodies.h"
#include "base/math/units.h"
#include "base/sys/descriptor.h"
#include "probe/quic/connection.h"
#include "probe/quic/endpoint.h"
#include "probe/quic/socket.h"
#include "probe/quic/test.h"
#include "probe/udp/rendezvous.h"

namespace chokepoint::probe::quic {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using net::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::chrono::hours kQueue{1};
// How long both handshakes may take.
constexpr seconds kSetUp{15};
// Without a ticket by then the server gives none.
constexpr milliseconds kTicket{1000};
// An interrupted test still collects what the server measured, but the user does not wait long.
constexpr milliseconds kAfterInterrupt{3000};

double ms_since(std::int64_t start_ns) {
  return static_cast<double>(clock_ns() - start_ns) / math::kNsPerMs;
}

Error interrupted() {
  return {.kind = ErrorKind::Interrupted,
          .operation = "quic",
          .subject = "test",
          .reason = "interrupted before it began"};
}

Error closed(std::string_view peer, const Connection& connection) {
  const std::string reason = connection.close_reason();
  return {.kind = ErrorKind::Refused,
          .operation = "quic",
          .subject = std::string(peer),
          .reason = "it closed the QUIC connection" + (reason.empty() ? "" : ": " + reason)};
}

// The client's connections until the one that carries the test is ready.
class SetUp {
 public:
  SetUp(Endpoint& endpoint, const Fingerprint& certificate, int interrupt)
      : endpoint_(endpoint),
        server_{.certificate = certificate},
        patience_(Deadline::of(kSetUp, interrupt)) {}

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
      if (patience_.over()) {
        return fail(ErrorKind::Timeout, "quic", "server", "its handshake took too long");
      }
      if (sys::is_readable(patience_.interrupt)) {
        return fail(interrupted());
      }
      TRY(endpoint_.turn(kTick, patience_.interrupt));
      if (connection().is_closed()) {
        return fail(closed("server", connection()));
      }
    }
    return {};
  }

  Endpoint& endpoint_;
  Expected server_;
  Deadline patience_;
};

class ClientRun {
 public:
  ClientRun(Client& client, Endpoint& endpoint, const Parameters& parameters, int interrupt,
            const Watcher& watcher)
      : client_(client),
        endpoint_(endpoint),
        parameters_(parameters),
        watcher_(watcher),
        patience_(Deadline::of(parameters.time + kDrain, interrupt)) {}

  // Until all has arrived and the server has sent its half. True where the user interrupted it.
  Result<bool> conduct() {
    endpoint_.begin(client_sends(parameters_), server_sends(parameters_));
    TRY(client_.channel().send({Type::Begin}, patience_.at_most(kAnswer)));
    while (!begun_) {
      TRY(endpoint_.turn(kTick, client_.channel().descriptor()));
      TRY(hear());
      TRY(check());
    }
    TRY(endpoint_.start());
    for (Ticker ticker; true;) {
      TRY(endpoint_.turn(kTick, client_.channel().descriptor()));
      if (!ticker.is_due()) {
        continue;
      }
      TRY(hear());
      endpoint_.tick([&](const IntervalMeasure& each) { watcher_(Side::Client, each); });
      if (endpoint_.is_done() || sys::is_readable(patience_.interrupt)) {
        return stop(!endpoint_.is_done());
      }
      TRY(check());
    }
  }

  Half server_half() { return std::move(*server_); }

 private:
  Result<> check() const {
    if (endpoint_.connection()->is_closed()) {
      return fail(closed(client_.channel().peer(), *endpoint_.connection()));
    }
    return patience_.over() ? fail(ErrorKind::Timeout, "quic", client_.channel().peer(),
                                   "what was sent did not arrive in time")
                            : Result<>{};
  }

  Result<bool> stop(bool by_user) {
    endpoint_.stop();
    const Deadline last = Deadline::of(by_user ? milliseconds(kAfterInterrupt)
                                               : std::chrono::duration_cast<milliseconds>(kAnswer));
    TRY(client_.channel().send({Type::Stop}, last));
    while (!server_) {
      if (last.over()) {
        return fail(ErrorKind::Timeout, "quic", client_.channel().peer(),
                    "it did not say what it measured");
      }
      endpoint_.drain(kTick, client_.channel().descriptor());
      TRY(hear());
    }
    return by_user;
  }

  Result<> hear() {
    while (true) {
      TRY(const std::optional<Message> message, client_.channel().poll());
      if (!message) {
        return {};
      }
      TRY(understand(*message));
    }
  }

  Result<> understand(const Message& message) {
    switch (message.type) {
      case Type::Report: {
        TRY(const IntervalMeasure interval, interval_in(message.body));
        watcher_(Side::Server, interval);
        return {};
      }
      case Type::Result: {
        TRY(Half half, half_in(message.body));
        server_ = std::move(half);
        return {};
      }
      case Type::Begin:
        begun_ = true;
        return {};
      case Type::Failed:
        return fail(control::error_in(message.body, client_.channel().peer()));
      default:
        return fail(ErrorKind::Malformed, "quic", client_.channel().peer(),
                    std::string(control::name_of(message.type)) + " came in the middle of a test");
    }
  }

  Client& client_;
  Endpoint& endpoint_;
  const Parameters& parameters_;
  const Watcher& watcher_;
  Deadline patience_;
  bool begun_ = false;  // at the server
  std::optional<Half> server_;
};

}  // namespace

Result<Trial> run(Client& client, const Parameters& parameters, const ClientContext& context,
                  const Watcher& watcher, const control::Waiting& waiting) {
  const int interrupt = context.interrupt;
  TRY(const Json ready,
      client.request("quic", body_of(parameters), Deadline::of(kQueue, interrupt), waiting));
  const Deadline deadline = Deadline::of(kAnswer, interrupt);
  TRY(udp::Flows flows, udp::meet_server(client, flow_of_test(), ready, context.socket, deadline));
  TRY(const Message begin, client.channel().expect(Type::Begin, deadline));
  TRY(const Fingerprint certificate, certificate_in(begin.body));
  TRY(Socket socket, Socket::adopt(std::move(flows.flows.front().fd), parameters.segmentation));
  Endpoint endpoint(std::move(socket), parameters, Protocol::Chokepoint, context.root, nullptr);
  Trial trial{.parameters = parameters};
  TRY(trial.times, SetUp(endpoint, certificate, interrupt).conduct());
  ClientRun run(client, endpoint, parameters, interrupt, watcher);
  TRY(trial.interrupted, run.conduct());
  trial.client = endpoint.half();
  trial.server = run.server_half();
  endpoint.disconnect();
  return trial;
}

}  // namespace chokepoint::probe::quic
