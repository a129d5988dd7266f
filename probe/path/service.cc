#include "probe/path/service.h"

#include <poll.h>
#include <sys/epoll.h>

#include "base/control/fields.h"
#include "base/net/socket.h"
#include "probe/path/exchange.h"
#include "probe/path/introduction.h"

namespace chokepoint::probe::path {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using std::chrono::seconds;

constexpr seconds kIntroduction{15};
// For the client to finish after the server has.
constexpr seconds kDrain{10};

// Readable once the client says something, goes, or the server shall end.
Result<sys::Descriptor> either_of(Session& session) {
  sys::Descriptor both(epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {session.surroundings().stop, session.channel().descriptor()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    if (fd >= 0 && epoll_ctl(both.get(), EPOLL_CTL_ADD, fd, &event) < 0) {
      return fail(from_errno(errno, "watch", "session"));
    }
  }
  return both;
}

Result<Doorman> post_doorman(Session& session) {
  Result<sys::Descriptor> socket = net::bind_udp({.address = session.local().address}, {});
  if (!socket) {
    return std::unexpected(socket.error());
  }
  TRY(const net::Endpoint local, net::local_endpoint(socket->get()));
  const std::string token = control::random_id();
  const Message ready{Type::Ready, {{"udp_port", local.port}, {"token", token}}};
  TRY(session.channel().send(ready, session.patience(kAnswer)));
  return Doorman(std::move(*socket), session.peer().address, token);
}

// Told once this end is ready for the client's probes.
Result<> begin(Session& session) {
  return session.channel().send({Type::Begin}, session.patience(kAnswer));
}

// Answers greetings until the client says Begin. Whether UDP passes, as the client sees it.
Result<bool> wait_for_begin(Session& session, Doorman& doorman) {
  const net::Patience patience = session.patience(kIntroduction);
  while (!patience.over()) {
    TRY(const std::optional<Message> message, session.channel().poll());
    if (message && message->type == Type::Begin) {
      control::Fields in(message->body, "begin");
      const bool udp = in.boolean("udp");
      return in.finish(udp && doorman.met());
    }
    const Result<> greeted =
        net::wait_for(doorman.descriptor(), POLLIN, patience.at_most(kLookForWord), "wait for",
                      session.channel().peer());
    if (greeted) {
      doorman.answer();
    } else if (greeted.error().kind != ErrorKind::Timeout) {
      return std::unexpected(greeted.error());
    }
  }
  return fail(ErrorKind::Timeout, "wait for", session.channel().peer(), "it never began");
}

Result<> report(Session& session, const Survey& survey) {
  return session.channel().send({Type::Report, body_of(survey)}, session.patience(kAnswer));
}

// Keeps echoing until the client says Stop, goes, or time is up.
void echo_until_told(UdpProber& flow, std::chrono::nanoseconds wait) {
  const net::Patience patience = net::Patience::of(wait);
  while (!patience.over() && flow.collect(kLookForWord)) {
  }
}

Result<> survey_together(Session& session, Doorman& doorman, const Parameters& parameters,
                         int interrupt) {
  TRY(sys::Descriptor socket, doorman.release());
  const sys::Clock& clock = session.surroundings().clock;
  TRY(UdpProber flow, UdpProber::adopt(std::move(socket), interrupt, clock));
  if (const Result<> begun = begin(session); !begun) {
    return begun;
  }
  SurveyOptions options = survey_options(parameters);
  options.origin = {.source = session.local().address, .interrupt = interrupt};
  TRY(const Survey found,
      survey(flow, options, clock, clock.monotonic_ns() + parameters.time.count()));
  if (const Result<> sent = report(session, found); !sent) {
    return sent;
  }
  echo_until_told(flow, parameters.time + kDrain);
  return {};
}

// Where UDP does not pass between the two, the way is found by connection attempts, to the client's
// own address and the port that it named.
Result<> survey_alone(Session& session, const Parameters& parameters, int interrupt) {
  if (const Result<> begun = begin(session); !begun) {
    return begun;
  }
  const sys::Clock& clock = session.surroundings().clock;
  Parameters by_tcp = parameters;
  by_tcp.protocol = Protocol::Tcp;
  by_tcp.search_mtu = false;
  SurveyOptions options = survey_options(by_tcp);
  options.origin = {.source = session.local().address, .interrupt = interrupt};
  const Result<Survey> found = survey(session.peer().address, options, clock,
                                      clock.monotonic_ns() + parameters.time.count());
  return found ? report(session, *found) : std::unexpected(found.error());
}

}  // namespace

Result<control::Weight> PathService::check(const Json& parameters,
                                           const control::Limits& limits) const {
  TRY(const Parameters read, parameters_in(parameters));
  const Result<> fits = path::check(read, limits);
  return fits ? Result<control::Weight>(control::Weight::Light) : std::unexpected(fits.error());
}

Result<Json> PathService::serve(Session& session, const Json& body) {
  TRY(const Parameters parameters, parameters_in(body));
  TRY(Doorman doorman, post_doorman(session));
  TRY(const bool udp, wait_for_begin(session, doorman));
  TRY(const sys::Descriptor interrupt, either_of(session));
  TRY(udp ? survey_together(session, doorman, parameters, interrupt.get())
          : survey_alone(session, parameters, interrupt.get()));
  const Result<Message> stop =
      session.channel().expect(Type::Stop, session.patience(parameters.time + kDrain));
  return stop ? Result<Json>(Json::object()) : std::unexpected(stop.error());
}

}  // namespace chokepoint::probe::path
