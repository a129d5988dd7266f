#include "probe/tcp/trial.h"

#include <fmt/format.h>
#include <poll.h>

#include "base/control/message.h"
#include "probe/tcp/endpoint.h"
#include "probe/tcp/patience.h"

namespace chokepoint::probe::tcp {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using net::Patience;
using std::chrono::milliseconds;

constexpr std::chrono::hours kQueue{1};
// An interrupted test still collects what both ends measured, but nobody who gave up waits long.
constexpr milliseconds kAfterInterrupt{3000};

Result<std::vector<Connection>> open_connections(Client& client, const Parameters& parameters,
                                                 const Patience& patience) {
  std::vector<Connection> opened;
  for (int i = 0; i < connections(parameters); ++i) {
    TRY(sys::Descriptor fd, client.attach(i, socket_options(parameters), patience));
    opened.push_back({std::move(fd), is_upstream(parameters, i) ? Role::Send : Role::Receive});
  }
  return opened;
}

class Conductor {
 public:
  Conductor(Client& client, Endpoint& endpoint, const Parameters& parameters, int interrupt,
            const Watcher& watcher)
      : client_(client),
        endpoint_(endpoint),
        watcher_(watcher),
        patience_(Patience::of(parameters.time + parameters.omit + kDrain, interrupt)) {}

  // Until this end is done and the server has told its half.
  Result<Trial> conduct() {
    endpoint_.begin();
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
    patience_ = Patience::of(kAfterInterrupt);
    return client_.channel().send({Type::Stop}, patience_);
  }

  Result<> hear() {
    while (true) {
      TRY(const std::optional<Message> message, client_.channel().poll());
      if (!message) {
        return {};
      }
      if (const Result<> understood = understand(*message); !understood) {
        return understood;
      }
    }
  }

  Result<> understand(const Message& message) {
    switch (message.type) {
      case Type::Report: {
        const Result<IntervalMeasure> interval = interval_in(message.body);
        if (interval) {
          watcher_(Side::Server, *interval);
        }
        return interval ? Result<>{} : std::unexpected(interval.error());
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
  Patience patience_;
  std::optional<Half> server_;
  bool stopped_ = false;
  bool finished_ = false;
};

}  // namespace

Result<Trial> run(Client& client, const Parameters& parameters, const sys::Root& root,
                  int interrupt, const Watcher& watcher, const control::Waiting& waiting) {
  TRY(client.request("tcp", body_of(parameters), Patience::of(kQueue, interrupt), waiting));
  const Patience patience = Patience::of(kAnswer, interrupt);
  TRY(std::vector<Connection> opened, open_connections(client, parameters, patience));
  TRY(const std::unique_ptr<Endpoint> endpoint,
      Endpoint::make(std::move(opened), parameters, root));
  TRY(client.channel().expect(Type::Begin, patience));
  Result<Trial> trial = Conductor(client, *endpoint, parameters, interrupt, watcher).conduct();
  if (trial) {
    trial->parameters = parameters;
  }
  return trial;
}

}  // namespace chokepoint::probe::tcp
