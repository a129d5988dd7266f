#include "probe/tcp/service.h"

#include <poll.h>

#include "base/net/socket.h"
#include "probe/tcp/endpoint.h"
#include "probe/tcp/parameters.h"
#include "probe/tcp/patience.h"

namespace chokepoint::probe::tcp {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using std::chrono::seconds;

constexpr seconds kAttach{15};

Result<std::vector<Connection>> take_connections(Session& session, const Parameters& parameters) {
  const int count = connections(parameters);
  session.expect_streams(count);
  if (const Result<> sent =
          session.channel().send({Type::Ready, Json::object()}, session.patience(kAnswer));
      !sent) {
    return std::unexpected(sent.error());
  }
  TRY(std::vector<sys::Descriptor> streams, session.streams(session.patience(kAttach)));
  std::vector<Connection> taken;
  for (int i = 0; i < count; ++i) {
    sys::Descriptor& fd = streams[static_cast<std::size_t>(i)];
    TRY(net::apply(socket_options(parameters), fd.get(), session.peer().address.family()));
    taken.push_back({std::move(fd), is_upstream(parameters, i) ? Role::Receive : Role::Send});
  }
  return taken;
}

class Run {
 public:
  Run(Session& session, Endpoint& endpoint, const Parameters& parameters)
      : session_(session),
        endpoint_(endpoint),
        patience_(session.patience(parameters.time + parameters.omit + kDrain)) {}

  Result<> to_the_end() {
    endpoint_.begin();
    while (!endpoint_.done()) {
      if (const Result<> heard = wait_and_hear(); !heard) {
        return heard;
      }
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
        session_.channel().send({Type::Report, body_of(interval)}, session_.patience(kAnswer));
    if (!sent && !gone_) {
      gone_ = sent.error();
      endpoint_.abort();
    }
  }

  Session& session_;
  Endpoint& endpoint_;
  net::Patience patience_;
  std::optional<Error> gone_;
};

}  // namespace

Result<control::Weight> TcpService::check(const Json& parameters,
                                          const control::Limits& limits) const {
  TRY(const Parameters read, parameters_in(parameters));
  const Result<> fits = tcp::check(read, limits);
  return fits ? Result<control::Weight>(control::Weight::Heavy) : std::unexpected(fits.error());
}

Result<Json> TcpService::serve(Session& session, const Json& body) {
  TRY(const Parameters parameters, parameters_in(body));
  TRY(std::vector<Connection> taken, take_connections(session, parameters));
  TRY(const std::unique_ptr<Endpoint> endpoint,
      Endpoint::make(std::move(taken), parameters, session.surroundings().root));
  if (const Result<> sent =
          session.channel().send({Type::Begin, Json::object()}, session.patience(kAnswer));
      !sent) {
    return std::unexpected(sent.error());
  }
  const Result<> ran = Run(session, *endpoint, parameters).to_the_end();
  return ran ? Result<Json>(body_of(endpoint->half())) : std::unexpected(ran.error());
}

}  // namespace chokepoint::probe::tcp
