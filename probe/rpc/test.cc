#include "probe/rpc/test.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/control/deadlines.h"
#include "base/control/message.h"
#include "base/control/test_driver.h"
#include "base/math/units.h"
#include "base/sys/descriptor.h"
#include "base/sys/root.h"
#include "probe/rpc/engine.h"

namespace chokepoint::probe::rpc {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Session;
using control::Type;
using net::Deadline;
using std::chrono::seconds;

constexpr std::string_view kKind = "rpc";

// Longer than a client waits for its last answers (control::kDrain).
constexpr seconds kLinger{60};
// Two chains that need each other's workers would wait for ever.
constexpr seconds kTurnOfNext{20};
constexpr seconds kReportEvery{1};

// Versions before this kind of test do not know it, and answer like a server that was started not
// to offer it.
Error without_rpc(Error error, const Client& client, const std::string& program) {
  const std::string& theirs = client.admittance().server.program;
  if (error.kind == ErrorKind::Unsupported && theirs != program) {
    error.next_step = fmt::format(
        "it is {}, and this is {}: versions before 'probe rpc' do not know it; upgrade it there, "
        "or see --offer of 'chokepoint serve'",
        theirs, program);
  }
  return error;
}

// The connections of a test that was granted, once the server has begun.
Result<std::vector<sys::Descriptor>> attach_all(Client& client, const Parameters& parameters,
                                                int interrupt) {
  const Deadline deadline = Deadline::of(control::kAnswer, interrupt);
  TRY(std::vector<sys::Descriptor> connections,
      attach_streams(client, parameters.callers, socket_options(parameters), deadline));
  TRY(client.channel().expect(Type::Begin, deadline));
  return connections;
}

// No byte has moved for too long. Whether messages of the control connection, which are small,
// still pass distinguishes a path that drops large packets from one that is gone.
Error stalled(Client& client, const Engine& engine, const Parameters& parameters) {
  constexpr std::chrono::seconds kMessageTime{3};
  const auto bytes = [](std::uint64_t count) {
    return math::format_bytes(static_cast<double>(count));
  };
  const std::string what =
      fmt::format("no answer and no byte for {} after {} calls",
                  math::format_duration(stall_limit_of(parameters)), engine.calls().calls);
  Error error;
  error.kind = ErrorKind::Timeout;
  error.subject = client.channel().peer();
  if (!stop_test(client, Deadline::of(kMessageTime))) {
    error.reason = what + ", and its control connection is silent, too";
    error.next_step = "is the host up, and does 'chokepoint probe path' reach it?";
    return error;
  }
  error.reason = fmt::format(
      "{}, though the small packets of its control connection pass: of requests of {} and answers "
      "of {} the large ones seem to vanish",
      what, bytes(parameters.request_bytes), bytes(parameters.response_bytes));
  error.next_step =
      "'chokepoint probe path' finds the largest packet that the path carries; set the MTU of both "
      "interfaces to it, or net.ipv4.tcp_mtu_probing to 1";
  return error;
}

// Over once the last answer has come.
class ClientSide final : public control::ClientEnd {
 public:
  ClientSide(Client& client, Engine& engine, const Parameters& parameters)
      : ClientEnd(client, kKind, Ending::ByStop),
        client_(client),
        engine_(engine),
        parameters_(parameters) {}

 private:
  Result<bool> turn(const Deadline& deadline) override {
    if (is_stopped()) {
      return wait_for_message(deadline, control::kTick);
    }
    const Result<bool> has_news = engine_.turn();
    return has_news ? has_news
                    : fail(reason_of_server(client_, has_news.error(), deadline.interrupt));
  }
  Result<> take_report(const Json& body) override {
    TRY(const std::uint64_t progress, progress_in(body));
    engine_.note_progress_behind(progress);
    return {};
  }
  Result<> tick() override {
    return !has_ended() && engine_.stalled() > stall_limit_of(parameters_)
               ? fail(stalled(client_, engine_, parameters_))
               : Result<>{};
  }
  bool has_ended() const override {
    const auto over_for = engine_.since_begin() - parameters_.time;
    return is_stopped() || over_for >= control::kDrain ||
           (over_for.count() >= 0 && engine_.outstanding() == 0);
  }
  void stop() override { engine_.end(); }

  Client& client_;
  Engine& engine_;
  const Parameters& parameters_;
};

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
  TRY(Client client, Client::connect(options, Deadline::of(control::kConnect, end)));
  Parameters rest = parameters;
  rest.next.erase(rest.next.begin());
  std::string waited_for;
  const Result<Json> ready =
      client.request(std::string(kKind), body_of(rest), Deadline::of(kTurnOfNext, end),
                     [&](const std::string& why) {
                       waited_for = why;
                       const Error queued{.kind = ErrorKind::Busy,
                                          .operation = "wait",
                                          .subject = "",
                                          .reason = fmt::format("{}: {}", next.host, why)};
                       // A client that has gone is noticed by `end`.
                       std::ignore = session.send(Type::Queued, control::body_of(queued));
                     });
  if (!ready && ready.error().kind == ErrorKind::Timeout && !waited_for.empty()) {
    return fail(
        ErrorKind::Busy, "", "",
        fmt::format("its turn did not come within {} s: {}", kTurnOfNext.count(), waited_for),
        "try again when that is done");
  }
  TRY(ready);
  TRY(std::vector<sys::Descriptor> connections, attach_all(client, rest, end));
  return Next{std::move(client), std::move(rest), std::move(connections)};
}

class ServerSide final : public control::ServerEnd {
 public:
  ServerSide(Session& session, Engine& engine, Next* next)
      : ServerEnd(session, kKind), engine_(engine), next_(next) {}

 private:
  Result<bool> turn(const Deadline& deadline) override {
    const Result<bool> has_news = engine_.turn();
    return has_news || next_ == nullptr
               ? has_news
               : fail(reason_of_server(next_->client, has_news.error(), deadline.interrupt));
  }
  Result<> tick() override {
    if (is_done()) {
      return {};
    }
    TRY(look_behind());
    const auto now = Deadline::Clock::now();
    if (now < next_report_) {
      return {};
    }
    next_report_ = now + kReportEvery;
    return send_report(progress_body(engine_.progress()));
  }
  void stop() override { engine_.end(); }

  Result<> look_behind() {
    if (next_ == nullptr) {
      return {};
    }
    TRY(read_progress(next_->client));
    return engine_.stalled() > stall_limit_of(next_->parameters)
               ? fail(stalled(next_->client, engine_, next_->parameters))
               : Result<>{};
  }

  // The next worker's, with that of those behind it.
  Result<> read_progress(Client& next) {
    while (true) {
      TRY(const std::optional<Message> message, next.channel().poll());
      if (!message) {
        return {};
      }
      if (message->type == Type::Failed) {
        return fail(control::error_in(message->body, next.channel().peer()));
      }
      if (message->type != Type::Report) {
        return fail_out_of_turn(*message);
      }
      TRY(const std::uint64_t progress, progress_in(message->body));
      engine_.note_progress_behind(progress);
    }
  }

  Engine& engine_;
  Next* next_;
  Deadline::Clock::time_point next_report_ = Deadline::Clock::now() + kReportEvery;
};

// What a worker measured as one that calls, with the half of the one that it called before those
// behind that one.
std::vector<Hop> hops_from(const Engine& engine, const Client& called, Half behind) {
  std::vector<Hop> hops;
  Hop& first = hops.emplace_back(engine.calls());
  first.host = called.admittance().server.host;
  first.address = called.peer().address.text();
  first.worker = behind.worker;
  std::ranges::move(behind.next, std::back_inserter(hops));
  return hops;
}

class RpcService final : public control::TestService<Parameters, parameters_in> {
 public:
  RpcService(std::string program, bool may_call_others)
      : program_(std::move(program)), may_call_others_(may_call_others) {}

  std::string_view kind() const override { return kKind; }

 private:
  Result<control::Demand> demand(const Parameters& parameters,
                                 const control::Limits& limits) const override {
    TRY(rpc::check(parameters, limits));
    if (!parameters.next.empty() && !may_call_others_) {
      return fail(ErrorKind::Refused, "", "a chain",
                  "this server calls no other hosts, since without one key for all hosts anybody "
                  "could have it connect to whom they like",
                  "start 'chokepoint serve' with --key-file FILE, the same file on all hosts");
    }
    return control::Demand(control::Weight::Heavy, 1, memory_of(parameters));
  }

  Result<Json> run(Session& session, const Parameters& parameters) override {
    if (parameters.next.empty()) {
      return answer(session, parameters, nullptr);
    }
    TRY(const sys::Descriptor end, session.end_signal(EPOLLRDHUP));
    const NextWorker& first = parameters.next.front();
    Result<Next> next = ask_next(session, parameters, first, program_, end.get());
    if (!next) {
      return fail(about_next(next.error(), first));
    }
    Result<Json> answered = answer(session, parameters, &*next);
    if (!answered && answered.error().subject.empty()) {
      answered.error().subject = next->client.channel().peer();
    }
    return answered;
  }

  // Until the client ends it. What this worker and those behind it measured.
  static Result<Json> answer(Session& session, const Parameters& parameters, Next* next) {
    TRY(std::vector<sys::Descriptor> taken,
        take_streams(session, parameters.callers, socket_options(parameters)));
    TRY(const std::unique_ptr<Engine> engine,
        Engine::make(
            next == nullptr ? std::vector<sys::Descriptor>{} : std::move(next->connections),
            std::move(taken), parameters, session.context().root));
    TRY(engine->watch(session.channel().descriptor()));
    TRY(engine->watch(session.context().stop));
    if (next != nullptr) {
      TRY(engine->watch(next->client.channel().descriptor()));
    }
    TRY(engine->begin({}, {}));
    TRY(session.send(Type::Begin));
    ServerSide side(session, *engine, next);
    TRY(drive(side, session.deadline(parameters.time + kLinger)));
    Half half{.worker = engine->answers()};
    if (next != nullptr) {
      TRY(const Json result, stop_test(next->client, session.deadline(control::kAnswer)));
      TRY(Half behind, half_in(result));
      half.next = hops_from(*engine, next->client, std::move(behind));
      next->client.bye();
    }
    return body_of(half);
  }

  std::string program_;
  bool may_call_others_;
};

}  // namespace

Result<Trial> run(Client& client, const Parameters& parameters, const ClientContext& context,
                  const Watcher& watcher, const control::Waiting& waiting) {
  const int interrupt = context.interrupt;
  if (const Result<Json> ready =
          request_test(client, kKind, body_of(parameters), interrupt, waiting);
      !ready) {
    return fail(without_rpc(ready.error(), client, context.program));
  }
  TRY(std::vector<sys::Descriptor> connections, attach_all(client, parameters, interrupt));
  TRY(const std::unique_ptr<Engine> engine,
      Engine::make(std::move(connections), {}, parameters, context.root));
  TRY(engine->watch(client.channel().descriptor()));
  TRY(engine->watch(interrupt));
  TRY(engine->begin(watcher, context.interval));
  ClientSide side(client, *engine, parameters);
  TRY(drive(side, Deadline::of(parameters.time + kLinger, interrupt)));
  TRY(Half server, half_in(side.result()));
  return Trial{.parameters = parameters,
               .duration_s = engine->duration_s(),
               .unanswered = engine->outstanding(),
               .hops = hops_from(*engine, client, std::move(server)),
               .client = engine->host(),
               .intervals = engine->intervals(),
               .interrupted = side.is_interrupted()};
}

std::unique_ptr<control::Service> rpc_service(std::string program, bool may_call_others) {
  return std::make_unique<RpcService>(std::move(program), may_call_others);
}

}  // namespace chokepoint::probe::rpc
