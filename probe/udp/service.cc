#include "probe/udp/service.h"

#include <poll.h>

#include <array>

#include "probe/udp/dialogue.h"
#include "probe/udp/exchange.h"
#include "probe/udp/rendezvous.h"

namespace chokepoint::probe::udp {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr seconds kBetweenRuns{30};
// A search runs many times before the run that counts.
constexpr int kMostTimes = 4;

class Host {
 public:
  Host(Session& session, const Parameters& parameters, Flows flows)
      : session_(session), parameters_(parameters), flows_(std::move(flows)) {}

  Result<Json> until_stopped() {
    while (true) {
      TRY(const Message message, next_message());
      if (message.type == Type::Stop) {
        return Json::object();
      }
      TRY(begin(message));
    }
  }

 private:
  // Answers pings while nothing else is to be done.
  Result<Message> next_message() {
    const net::Patience patience = session_.patience(kBetweenRuns);
    std::array<pollfd, 3> watched{pollfd{session_.channel().descriptor(), POLLIN, 0},
                                  pollfd{flows_.flows.front().fd.get(), POLLIN, 0},
                                  pollfd{session_.surroundings().stop, POLLIN, 0}};
    while (!patience.over()) {
      poll(watched.data(), watched.size(), 100);
      if (watched[2].revents != 0) {
        return fail(ErrorKind::Interrupted, "udp", session_.channel().peer(), "the server stops");
      }
      if (watched[1].revents != 0) {
        answer_pings(flows_.flows.front().fd.get(), flows_.test);
      }
      TRY(std::optional<Message> said, session_.channel().poll());
      if (said) {
        return std::move(*said);
      }
    }
    return fail(ErrorKind::Timeout, "udp", session_.channel().peer(),
                "it asked for no run in time");
  }

  Result<> begin(const Message& message) {
    if (message.type != Type::Begin) {
      return fail(ErrorKind::Malformed, "udp", session_.channel().peer(),
                  std::string(control::name_of(message.type)) + " came where a run was expected");
    }
    TRY(const RunPlan plan, run_plan_in(message.body));
    Result<> fits = check(plan, parameters_, session_.limits());
    if (fits && spent_ + plan.time > kMostTimes * parameters_.time + kBetweenRuns) {
      fits = fail(ErrorKind::Usage, "udp run", "time", "all of it is used up");
    }
    spent_ += plan.time;
    return fits ? run(plan) : fits;
  }

  Result<> run(const RunPlan& plan) {
    RunThreads threads(flows_, plan);
    threads.listen();
    Result<> done =
        session_.channel().send({Type::Begin, {{"run", plan.run}}}, session_.patience(kAnswer));
    if (!done) {
      return done;
    }
    threads.send();
    Dialogue dialogue(session_.channel(), threads, plan);
    done = to_the_end(dialogue, threads, plan);
    return done ? session_.channel().send({Type::Note, body_of(threads.report())},
                                          session_.patience(kAnswer))
                : done;
  }

  Result<> to_the_end(Dialogue& dialogue, RunThreads& threads, const RunPlan& plan) {
    const net::Patience patience = session_.patience(plan.time + kWindUp);
    auto report_at = net::Patience::Clock::now() + plan.interval;
    while (!dialogue.complete()) {
      if (patience.over()) {
        return fail(ErrorKind::Timeout, "udp", session_.channel().peer(),
                    "it did not say that it was done");
      }
      if (const Result<> stepped = dialogue.step(patience); !stepped) {
        return stepped;
      }
      if (net::Patience::Clock::now() >= report_at) {
        report_at += plan.interval;
        const Result<> told =
            session_.channel().send(live_report(threads.received_so_far()), patience);
        if (!told) {
          return told;
        }
      }
    }
    return {};
  }

  Session& session_;
  const Parameters& parameters_;
  Flows flows_;
  nanoseconds spent_{0};
};

}  // namespace

Result<control::Weight> UdpService::check(const Json& parameters,
                                          const control::Limits& limits) const {
  const Result<Parameters> asked = parameters_in(parameters);
  const Result<> fits = asked ? udp::check(*asked, limits) : std::unexpected(asked.error());
  return fits ? Result<control::Weight>(control::Weight::Heavy) : std::unexpected(fits.error());
}

Result<Json> UdpService::serve(Session& session, const Json& body) {
  TRY(const Parameters parameters, parameters_in(body));
  TRY(Flows flows, meet_client(session, parameters));
  return Host(session, parameters, std::move(flows)).until_stopped();
}

}  // namespace chokepoint::probe::udp
