#include "probe/tcp/service.h"

#include <poll.h>

#include "base/net/socket_options.h"
#include "probe/tcp/endpoint.h"
#include "probe/tcp/parameters.h"

namespace chokepoint::probe::tcp {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using std::chrono::seconds;

constexpr seconds kAnswer{10};
constexpr seconds kAttach{15};
// What the slowest path may take to deliver the rest of a test.
constexpr seconds kDrain{40};

Result<std::vector<Connection>> take_connections(Session& session, const Parameters& parameters) {
  const int count = connections(parameters);
  session.expect_streams(count);
  if (const Result<> sent =
          session.channel().send({Type::Ready, Json::object()}, session.patience(kAnswer));
      !sent) {
    return std::unexpected(sent.error());
  }
  Result<std::vector<sys::Descriptor>> streams = session.streams(session.patience(kAttach));
  if (!streams) {
    return std::unexpected(streams.error());
  }
  std::vector<Connection> taken;
  for (int i = 0; i < count; ++i) {
    sys::Descriptor& fd = (*streams)[static_cast<std::size_t>(i)];
    const Result<> set =
        net::apply(socket_options(parameters), fd.get(), session.peer().address.family());
    if (!set) {
      return std::unexpected(set.error());
    }
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
    const Result<std::optional<Message>> message = session_.channel().poll();
    if (!message) {
      return std::unexpected(message.error());
    }
    if (*message && (*message)->type == Type::Stop) {
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
  const Result<Parameters> read = parameters_in(parameters);
  if (!read) {
    return std::unexpected(read.error());
  }
  const Result<> fits = tcp::check(*read, limits);
  return fits ? Result<control::Weight>(control::Weight::Heavy) : std::unexpected(fits.error());
}

Result<Json> TcpService::serve(Session& session, const Json& body) {
  const Result<Parameters> parameters = parameters_in(body);
  if (!parameters) {
    return std::unexpected(parameters.error());
  }
  Result<std::vector<Connection>> taken = take_connections(session, *parameters);
  if (!taken) {
    return std::unexpected(taken.error());
  }
  const Result<std::unique_ptr<Endpoint>> endpoint =
      Endpoint::make(std::move(*taken), *parameters, session.surroundings().root);
  if (!endpoint) {
    return std::unexpected(endpoint.error());
  }
  if (const Result<> sent =
          session.channel().send({Type::Begin, Json::object()}, session.patience(kAnswer));
      !sent) {
    return std::unexpected(sent.error());
  }
  const Result<> ran = Run(session, **endpoint, *parameters).to_the_end();
  return ran ? Result<Json>(body_of((*endpoint)->half())) : std::unexpected(ran.error());
}

}  // namespace chokepoint::probe::tcp
