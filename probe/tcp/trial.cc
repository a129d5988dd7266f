#include "probe/tcp/trial.h"

#include <utility>
#include <vector>

#include "base/control/deadlines.h"
#include "base/control/test_driver.h"
#include "probe/tcp/endpoint.h"

namespace chokepoint::probe::tcp {
namespace {

constexpr std::string_view kKind = "tcp";

using control::Client;
using control::Json;
using control::Session;
using net::Deadline;

std::vector<Connection> with_roles(std::vector<sys::Descriptor> streams,
                                   const Parameters& parameters, Role upstream, Role downstream) {
  std::vector<Connection> connections;
  for (sys::Descriptor& fd : streams) {
    const int index = static_cast<int>(connections.size());
    connections.push_back({std::move(fd), is_upstream(parameters, index) ? upstream : downstream});
  }
  return connections;
}

// Both ends know when it is over: each once its own streams have ended.
class ClientSide final : public control::ClientEnd {
 public:
  ClientSide(Client& client, Endpoint& endpoint, const Watcher& watcher)
      : ClientEnd(client, kKind, Ending::ByBoth), endpoint_(endpoint), watcher_(watcher) {}

 private:
  Result<bool> turn(const Deadline& deadline) override {
    return wait_for_message(deadline, control::kTick);
  }
  Result<> take_report(const Json& body) override {
    TRY(const IntervalMeasure interval, interval_in(body));
    watcher_(Side::Server, interval);
    return {};
  }
  Result<> tick() override {
    if (!finished_) {
      finished_ = endpoint_.done();
      endpoint_.tick([&](const IntervalMeasure& each) { watcher_(Side::Client, each); });
    }
    return {};
  }
  bool has_ended() const override { return finished_; }
  void stop() override { endpoint_.stop(); }

  Endpoint& endpoint_;
  const Watcher& watcher_;
  bool finished_ = false;
};

class ServerSide final : public control::ServerEnd {
 public:
  ServerSide(Session& session, Endpoint& endpoint)
      : ServerEnd(session, kKind), endpoint_(endpoint) {}

 private:
  Result<bool> turn(const Deadline& deadline) override {
    return wait_for_message(deadline, control::kTick);
  }
  Result<> tick() override {
    finished_ = endpoint_.done();
    Result<> sent = {};
    endpoint_.tick([&](const IntervalMeasure& interval) {
      sent = sent ? send_report(body_of(interval)) : sent;
    });
    return sent;
  }
  bool is_done() const override { return finished_; }
  void stop() override { endpoint_.stop(); }

  Endpoint& endpoint_;
  bool finished_ = false;
};

std::chrono::nanoseconds longest(const Parameters& parameters) {
  return parameters.time + parameters.omit + control::kDrain;
}

class TcpService final : public control::TestService<Parameters, parameters_in> {
 public:
  std::string_view kind() const override { return kKind; }

 private:
  Result<control::Demand> demand(const Parameters& parameters,
                                 const control::Limits& limits) const override {
    TRY(tcp::check(parameters, limits));
    return control::Demand(control::Weight::Heavy, connections(parameters),
                           memory_of(parameters, limits));
  }

  Result<Json> run(Session& session, const Parameters& parameters) override {
    TRY(std::vector<sys::Descriptor> streams,
        take_streams(session, connections(parameters), socket_options(parameters)));
    TRY(const std::unique_ptr<Endpoint> endpoint,
        Endpoint::make(with_roles(std::move(streams), parameters, Role::Receive, Role::Send),
                       parameters, session.context().root));
    TRY(session.send(control::Type::Begin));
    TRY(endpoint->begin());
    ServerSide side(session, *endpoint);
    TRY(drive(side, session.deadline(longest(parameters))));
    return body_of(endpoint->half());
  }
};

}  // namespace

Result<Trial> run(Client& client, const Parameters& parameters, const sys::Root& root,
                  int interrupt, const Watcher& watcher, const control::Waiting& waiting) {
  TRY(request_test(client, kKind, body_of(parameters), interrupt, waiting));
  const Deadline deadline = Deadline::of(control::kAnswer, interrupt);
  TRY(std::vector<sys::Descriptor> streams,
      attach_streams(client, connections(parameters), socket_options(parameters), deadline));
  TRY(const std::unique_ptr<Endpoint> endpoint,
      Endpoint::make(with_roles(std::move(streams), parameters, Role::Send, Role::Receive),
                     parameters, root));
  TRY(client.channel().expect(control::Type::Begin, deadline));
  TRY(endpoint->begin());
  ClientSide side(client, *endpoint, watcher);
  TRY(drive(side, Deadline::of(longest(parameters), interrupt)));
  TRY(Half server, half_in(side.result()));
  return Trial{.parameters = parameters,
               .client = endpoint->half(),
               .server = std::move(server),
               .interrupted = side.is_interrupted()};
}

std::unique_ptr<control::Service> tcp_service() { return std::make_unique<TcpService>(); }

}  // namespace chokepoint::probe::tcp
