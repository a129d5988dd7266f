#include <utility>

#include "base/control/bodies.h"
#include "base/sys/descriptor.h"
#include "probe/quic/connection.h"
#include "probe/quic/endpoint.h"
#include "probe/quic/socket.h"
#include "probe/quic/test.h"
#include "probe/udp/rendezvous.h"

namespace chokepoint::probe::quic {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using net::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;

// For the client's handshakes.
constexpr seconds kHandshakes{15};
// For packets that the path still has when the message about the end has come.
constexpr milliseconds kStragglers{50};

class ServerRun {
 public:
  ServerRun(Session& session, Endpoint& endpoint, const Parameters& parameters)
      : session_(session), endpoint_(endpoint), parameters_(parameters) {}

  // Until the client says that it is over.
  Result<> conduct() {
    TRY(turn_until(Type::Begin, session_.deadline(kHandshakes)));
    TRY(complete_handshake());
    endpoint_.begin(server_sends(parameters_), client_sends(parameters_));
    TRY(session_.channel().send({Type::Begin}, session_.deadline(kAnswer)));
    TRY(endpoint_.start());
    TRY(turn_until(Type::Stop, session_.deadline(parameters_.time + kDrain)));
    endpoint_.stop();
    endpoint_.drain(kStragglers, session_.context().stop);
    return {};
  }

 private:
  // The client's side of it is complete: its last flight may still be on its way.
  Result<> complete_handshake() {
    const Deadline deadline = session_.deadline(kAnswer);
    while (endpoint_.connection() == nullptr || !endpoint_.connection()->is_ready()) {
      if (endpoint_.connection() == nullptr || deadline.over()) {
        return fail(ErrorKind::Malformed, "quic", session_.channel().peer(),
                    "it began without a QUIC connection");
      }
      TRY(endpoint_.turn(kTick, deadline.interrupt));
    }
    return {};
  }

  Result<> turn_until(Type wanted, const Deadline& deadline) {
    for (Ticker ticker; true;) {
      TRY(endpoint_.turn(kTick, session_.channel().descriptor()));
      if (!ticker.is_due()) {
        continue;
      }
      if (wanted == Type::Stop) {
        TRY(tick());
      }
      TRY(const std::optional<Message> message, session_.channel().poll());
      if (message && message->type == wanted) {
        return {};
      }
      if (message) {
        return fail(ErrorKind::Malformed, "quic", session_.channel().peer(),
                    std::string(control::name_of(message->type)) + " came in the middle of a test");
      }
      if (sys::is_readable(deadline.interrupt)) {
        return fail(ErrorKind::Interrupted, "quic", session_.channel().peer(), "the server stops");
      }
      if (deadline.over()) {
        return fail(ErrorKind::Timeout, "quic", session_.channel().peer(),
                    "it did not say that it was done");
      }
    }
  }

  Result<> tick() {
    Result<> sent = {};
    endpoint_.tick([&](const IntervalMeasure& interval) {
      sent = session_.channel().send({Type::Report, body_of(interval)}, session_.deadline(kAnswer));
    });
    return sent;
  }

  Session& session_;
  Endpoint& endpoint_;
  const Parameters& parameters_;
};

}  // namespace

Result<control::Demand> QuicService::check(const Json& parameters,
                                           const control::Limits& limits) const {
  TRY(const Parameters read, parameters_in(parameters));
  TRY(quic::check(read, limits));
  return control::Demand(control::Weight::Heavy, 0, memory_of(read));
}

Result<Json> QuicService::serve(Session& session, const Json& body) {
  TRY(const Parameters parameters, parameters_in(body));
  TRY(const std::unique_ptr<Identity> identity, Identity::make());
  TRY(udp::Flows flows, udp::meet_client(session, flow_of_test()));
  TRY(Socket socket, Socket::adopt(std::move(flows.flows.front().fd), parameters.segmentation));
  Endpoint endpoint(std::move(socket), parameters, Protocol::Chokepoint, session.context().root,
                    identity.get());
  TRY(session.channel().send({Type::Begin, certificate_body(identity->fingerprint())},
                             session.deadline(kAnswer)));
  TRY(ServerRun(session, endpoint, parameters).conduct());
  return body_of(endpoint.half());
}

}  // namespace chokepoint::probe::quic
