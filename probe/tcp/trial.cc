#include "probe/tcp/trial.h"

#include <poll.h>

#include "base/net/socket.h"
#include "probe/tcp/endpoint.h"

namespace chokepoint::probe::tcp {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Session;
using control::Type;
using net::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::chrono::hours kQueue{1};
// An interrupted test still collects what both ends measured, but the user does not wait long.
constexpr milliseconds kAfterInterrupt{3000};

Result<std::vector<Connection>> open_connections(Client& client, const Parameters& parameters,
                                                 const Deadline& deadline) {
  std::vector<Connection> opened;
  for (int i = 0; i < connections(parameters); ++i) {
    TRY(sys::Descriptor fd, client.attach(i, socket_options(parameters), deadline));
    opened.push_back({std::move(fd), is_upstream(parameters, i) ? Role::Send : Role::Receive});
  }
  return opened;
}

class ClientRun {
 public:
  ClientRun(Client& client, Endpoint& endpoint, const Parameters& parameters, int interrupt,
            const Watcher& watcher)
      : client_(client),
        endpoint_(endpoint),
        watcher_(watcher),
        patience_(Deadline::of(parameters.time + parameters.omit + kDrain, interrupt)) {}

  // Until this end is done and the server has sent its half.
  Result<Trial> conduct() {
    TRY(endpoint_.begin());
    while (!server_ || !endpoint_.done()) {
      if (const Result<> heard = wait_and_hear(); !heard) {
        endpoint_.abort();
        return std::unexpected(heard.error());
      }
      tick();
    }
    tick();
    Trial trial;
    trial.client = endpoint_.half();
    trial.server = std::move(*server_);
    trial.interrupted = stopped_;
    return trial;
  }

 private:
  void tick() {
    if (!finished_) {
      finished_ = endpoint_.done();
      endpoint_.tick([&](const IntervalMeasure& each) { watcher_(Side::Client, each); });
    }
  }

  Result<> wait_and_hear() {
    const int descriptor = client_.channel().descriptor();
    const Result<> waited = net::wait_for(descriptor, POLLIN, patience_.at_most(kTick), "test",
                                          client_.channel().peer());
    if (waited) {
      return hear();
    }
    if (waited.error().kind == ErrorKind::Interrupted && !stopped_) {
      return stop_early();
    }
    return waited.error().kind == ErrorKind::Timeout && !patience_.over() ? Result<>{} : waited;
  }

  Result<> stop_early() {
    stopped_ = true;
    endpoint_.stop();
    patience_ = Deadline::of(kAfterInterrupt);
    return client_.channel().send({Type::Stop}, patience_);
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
      case Type::Failed:
      case Type::Refused:
        return fail(control::error_in(message.body, client_.channel().peer()));
      default:
        return {};
    }
  }

  Client& client_;
  Endpoint& endpoint_;
  const Watcher& watcher_;
  Deadline patience_;
  std::optional<Half> server_;
  bool stopped_ = false;
  bool finished_ = false;
};

constexpr seconds kAttach{15};

Result<std::vector<Connection>> take_connections(Session& session, const Parameters& parameters) {
  const int count = connections(parameters);
  session.expect_streams(count);
  TRY(session.channel().send({Type::Ready, Json::object()}, session.deadline(kAnswer)));
  TRY(std::vector<sys::Descriptor> streams, session.streams(session.deadline(kAttach)));
  std::vector<Connection> taken;
  for (int i = 0; i < count; ++i) {
    sys::Descriptor& fd = streams[static_cast<std::size_t>(i)];
    TRY(net::apply(socket_options(parameters), fd.get(), session.peer().address.family()));
    taken.push_back({std::move(fd), is_upstream(parameters, i) ? Role::Receive : Role::Send});
  }
  return taken;
}

class ServerRun {
 public:
  ServerRun(Session& session, Endpoint& endpoint, const Parameters& parameters)
      : session_(session),
        endpoint_(endpoint),
        patience_(session.deadline(parameters.time + parameters.omit + kDrain)) {}

  Result<> to_the_end() {
    TRY(endpoint_.begin());
    while (!endpoint_.done()) {
      TRY(wait_and_hear());
      endpoint_.tick([&](const IntervalMeasure& interval) { report(interval); });
    }
    endpoint_.tick([&](const IntervalMeasure& interval) { report(interval); });
    return gone_ ? std::unexpected(*gone_) : Result<>{};
  }

 private:
  Result<> wait_and_hear() {
    const Result<> waited =
        net::wait_for(session_.channel().descriptor(), POLLIN, patience_.at_most(kTick), "test",
                      session_.channel().peer());
    if (waited) {
      return hear();
    }
    if (waited.error().kind != ErrorKind::Timeout || patience_.over()) {
      return waited;
    }
    return {};
  }

  Result<> hear() {
    TRY(const std::optional<Message> message, session_.channel().poll());
    if (message && message->type == Type::Stop) {
      endpoint_.stop();
    }
    return {};
  }

  void report(const IntervalMeasure& interval) {
    const Result<> sent =
        session_.channel().send({Type::Report, body_of(interval)}, session_.deadline(kAnswer));
    if (!sent && !gone_) {
      gone_ = sent.error();
      endpoint_.abort();
    }
  }

  Session& session_;
  Endpoint& endpoint_;
  net::Deadline patience_;
  std::optional<Error> gone_;
};

}  // namespace

Result<Trial> run(Client& client, const Parameters& parameters, const sys::Root& root,
                  int interrupt, const Watcher& watcher, const control::Waiting& waiting) {
  TRY(client.request("tcp", body_of(parameters), Deadline::of(kQueue, interrupt), waiting));
  const Deadline deadline = Deadline::of(kAnswer, interrupt);
  TRY(std::vector<Connection> opened, open_connections(client, parameters, deadline));
  TRY(const std::unique_ptr<Endpoint> endpoint,
      Endpoint::make(std::move(opened), parameters, root));
  TRY(client.channel().expect(Type::Begin, deadline));
  Result<Trial> trial = ClientRun(client, *endpoint, parameters, interrupt, watcher).conduct();
  if (trial) {
    trial->parameters = parameters;
  }
  return trial;
}

Result<control::Demand> TcpService::check(const Json& parameters,
                                          const control::Limits& limits) const {
  TRY(const Parameters read, parameters_in(parameters));
  TRY(tcp::check(read, limits));
  return control::Demand(control::Weight::Heavy, connections(read), memory_of(read, limits));
}

Result<Json> TcpService::serve(Session& session, const Json& body) {
  TRY(const Parameters parameters, parameters_in(body));
  TRY(std::vector<Connection> taken, take_connections(session, parameters));
  TRY(const std::unique_ptr<Endpoint> endpoint,
      Endpoint::make(std::move(taken), parameters, session.context().root));
  TRY(session.channel().send({Type::Begin, Json::object()}, session.deadline(kAnswer)));
  TRY(ServerRun(session, *endpoint, parameters).to_the_end());
  return body_of(endpoint->half());
}

}  // namespace chokepoint::probe::tcp
