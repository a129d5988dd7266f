#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/control/message.h"
#include "base/net/socket.h"
#include "base/sys/descriptor.h"
#include "base/sys/root.h"
#include "probe/rpc/engine.h"
#include "probe/rpc/exchange.h"
#include "probe/rpc/test.h"

namespace chokepoint::probe::rpc {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Session;
using control::Type;
using net::Deadline;
using std::chrono::seconds;

constexpr seconds kConnectNext{10};
// Two chains that need each other's workers would wait for ever.
constexpr seconds kTurnOfNext{20};
constexpr seconds kReportEvery{1};
// Longer than a client waits for its last answers.
constexpr seconds kLinger{60};

// Readable once the client has gone or the server shall end.
Result<sys::Descriptor> end_of(Session& session) {
  sys::Descriptor both(epoll_create1(EPOLL_CLOEXEC));
  epoll_event stopped{.events = EPOLLIN, .data = {}};
  epoll_event gone{.events = EPOLLRDHUP, .data = {}};
  const int stop = session.context().stop;
  if (!both || (stop >= 0 && epoll_ctl(both.get(), EPOLL_CTL_ADD, stop, &stopped) < 0) ||
      epoll_ctl(both.get(), EPOLL_CTL_ADD, session.channel().descriptor(), &gone) < 0) {
    return fail(from_errno(errno, "watch", "session"));
  }
  return both;
}

// The next worker of a chain, and the connections on which it is called.
struct Next {
  Client client;
  Parameters parameters;
  std::vector<sys::Descriptor> connections;
};

Error about_next(Error error, const NextWorker& next) {
  if (error.kind != ErrorKind::Interrupted) {
    error.operation = fmt::format("call {}", next.host);
  }
  return error;
}

Result<Next> ask_next(Session& session, const Parameters& parameters, const NextWorker& next,
                      const std::string& program, int end) {
  control::ClientOptions options{
      .peer = {next.host, next.port},
      .own = {.program = program, .host = sys::host_name(session.context().root)}};
  if (parameters.family != OnlyFamily::Any) {
    options.family = parameters.family == OnlyFamily::Ipv4 ? net::Family::Ipv4 : net::Family::Ipv6;
  }
  if (!session.context().key.empty()) {
    options.key = control::secret_of(session.context().key);
  }
  TRY(Client client, Client::connect(options, Deadline::of(kConnectNext, end)));
  Parameters rest = parameters;
  rest.next.erase(rest.next.begin());
  std::string waited_for;
  const Result<Json> ready = client.request(
      "rpc", body_of(rest), Deadline::of(kTurnOfNext, end), [&](const std::string& why) {
        waited_for = why;
        const Error queued{.kind = ErrorKind::Busy,
                           .operation = "wait",
                           .subject = "",
                           .reason = fmt::format("{}: {}", next.host, why)};
        // A client that has gone is noticed by `end`.
        std::ignore = session.channel().send({Type::Queued, control::body_of(queued)},
                                             session.deadline(kAnswer));
      });
  if (!ready && ready.error().kind == ErrorKind::Timeout && !waited_for.empty()) {
    return fail(
        ErrorKind::Busy, "", "",
        fmt::format("its turn did not come within {} s: {}", kTurnOfNext.count(), waited_for),
        "try again when that is done");
  }
  TRY(ready);
  TRY(std::vector<sys::Descriptor> connections,
      attach_all(client, rest, Deadline::of(kAnswer, end)));
  return Next{std::move(client), std::move(rest), std::move(connections)};
}

Result<std::vector<sys::Descriptor>> take_connections(Session& session,
                                                      const Parameters& parameters) {
  session.expect_streams(parameters.callers);
  TRY(session.channel().send({Type::Ready}, session.deadline(kAnswer)));
  TRY(std::vector<sys::Descriptor> taken, session.streams(session.deadline(kAnswer)));
  for (const sys::Descriptor& fd : taken) {
    TRY(net::apply(socket_options(parameters), fd.get(), session.peer().address.family()));
  }
  return taken;
}

class ServerRun {
 public:
  ServerRun(Session& session, Engine& engine, const Parameters& parameters, Next* next)
      : session_(session),
        engine_(engine),
        next_(next),
        patience_(session.deadline(parameters.time + kLinger)) {}

  // Until the client says that it is over. What this worker and those behind it measured.
  Result<Half> conduct() {
    TRY(engine_.watch(session_.channel().descriptor()));
    TRY(engine_.watch(session_.context().stop));
    if (next_ != nullptr) {
      TRY(engine_.watch(next_->client.channel().descriptor()));
    }
    TRY(engine_.begin({}, {}));
    TRY(session_.channel().send({Type::Begin}, session_.deadline(kAnswer)));
    while (true) {
      const Result<bool> has_news = engine_.turn();
      if (!has_news) {
        return fail(next_ == nullptr
                        ? has_news.error()
                        : told_by(next_->client, has_news.error(), session_.context().stop));
      }
      if (!*has_news) {
        continue;
      }
      TRY(const std::optional<Message> message, session_.channel().poll());
      if (message) {
        return end(*message);
      }
      TRY(look_behind());
      TRY(report());
      if (sys::is_readable(session_.context().stop)) {
        return fail(ErrorKind::Interrupted, "rpc", session_.channel().peer(), "the server stops");
      }
      if (patience_.over()) {
        return fail(ErrorKind::Timeout, "rpc", session_.channel().peer(),
                    "it did not say that it was done");
      }
    }
  }

 private:
  Result<> look_behind() {
    if (next_ == nullptr) {
      return {};
    }
    TRY(hear_progress(next_->client, engine_));
    return engine_.stalled() > patience_of(next_->parameters)
               ? fail(stalled(next_->client, engine_, next_->parameters))
               : Result<>{};
  }

  Result<> report() {
    const auto now = Deadline::Clock::now();
    if (now < next_report_) {
      return {};
    }
    next_report_ = now + kReportEvery;
    return session_.channel().send({Type::Report, progress_body(engine_.progress())},
                                   session_.deadline(kAnswer));
  }

  Result<Half> end(const Message& message) {
    if (message.type != Type::Stop) {
      return fail(ErrorKind::Malformed, "rpc", session_.channel().peer(),
                  std::string(control::name_of(message.type)) + " came in the middle of a test");
    }
    engine_.end();
    Half half{.worker = engine_.answers()};
    if (next_ == nullptr) {
      return half;
    }
    TRY(Half behind, stop(next_->client, session_.deadline(kAnswer)));
    Hop& hop = half.next.emplace_back(engine_.calls());
    hop.host = next_->client.admittance().server.host;
    hop.address = next_->client.peer().address.text();
    hop.worker = behind.worker;
    std::ranges::move(behind.next, std::back_inserter(half.next));
    next_->client.bye();
    return half;
  }

  Session& session_;
  Engine& engine_;
  Next* next_;
  Deadline patience_;
  Deadline::Clock::time_point next_report_ = Deadline::Clock::now() + kReportEvery;
};

}  // namespace

Result<control::Demand> RpcService::check(const Json& parameters,
                                          const control::Limits& limits) const {
  TRY(const Parameters read, parameters_in(parameters));
  TRY(rpc::check(read, limits));
  if (!read.next.empty() && !may_call_others_) {
    return fail(ErrorKind::Refused, "", "a chain",
                "this server calls no other hosts, since without one key for all hosts anybody "
                "could have it connect to whom they like",
                "start 'chokepoint serve' with --key-file FILE, the same file on all hosts");
  }
  return control::Demand(control::Weight::Heavy, 1, memory_of(read));
}

Result<Json> RpcService::serve(Session& session, const Json& body) {
  TRY(const Parameters parameters, parameters_in(body));
  std::optional<Next> next;
  std::vector<sys::Descriptor> calls;
  if (!parameters.next.empty()) {
    TRY(const sys::Descriptor end, end_of(session));
    const NextWorker& first = parameters.next.front();
    Result<Next> asked = ask_next(session, parameters, first, program_, end.get());
    if (!asked) {
      return fail(about_next(asked.error(), first));
    }
    next = *std::move(asked);
    calls = std::move(next->connections);
  }
  TRY(std::vector<sys::Descriptor> taken, take_connections(session, parameters));
  TRY(const std::unique_ptr<Engine> engine,
      Engine::make(std::move(calls), std::move(taken), parameters, session.context().root));
  Result<Half> half = ServerRun(session, *engine, parameters, next ? &*next : nullptr).conduct();
  if (!half && next) {
    half.error().subject =
        half.error().subject.empty() ? next->client.channel().peer() : half.error().subject;
  }
  return half ? Result<Json>(body_of(*half)) : std::unexpected(half.error());
}

}  // namespace chokepoint::probe::rpc
