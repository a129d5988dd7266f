#include "probe/path/exchange.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/control/bodies.h"
#include "base/control/deadlines.h"
#include "base/control/test_driver.h"
#include "base/net/socket.h"

namespace chokepoint {

template <>
struct Fields<probe::path::Hop> {
  using H = probe::path::Hop;
  static constexpr FieldList kList{
      field("ttl", &H::ttl, "time to live of the probes").between(1, 64),
      field("addresses", &H::addresses, "who answered, the most frequent address first")
          .up_to_items(16),
      field("rtt_ms", &H::rtt_ms, "round-trip time of each answer").up_to_items(40),
      field("sent", &H::sent, "probes sent with this time to live").between(0, 1000),
      field("answered", &H::answered, "probes that were answered").between(0, 1000),
      field("unreachable", &H::unreachable,
            "reason of an answer \"unreachable\", as traceroute marks it")};
};

template <>
struct Fields<probe::path::Trace> {
  using T = probe::path::Trace;
  static constexpr FieldList kList{
      field("protocol", &T::protocol, "of the probes"),
      within(&T::source, field("source", &net::Endpoint::address, "address that sent the probes")),
      within(&T::target, field("target", &net::Endpoint::address, "address that was traced")),
      within(&T::target, field("port", &net::Endpoint::port, "destination port of the probes")),
      field("reached", &T::reached, "whether the target answered"),
      field("complete", &T::complete, "whether every probe was sent before time ran out"),
      field("probed_to", &T::probed_to, "highest time to live that was tried").between(0, 64),
      field("hops", &T::hops, "one for each time to live from 1 on, without gaps").up_to_items(64)};
  static const char* wrong(const T& trace) {
    int ttl = 0;
    const bool gapless =
        std::ranges::all_of(trace.hops, [&](const auto& hop) { return hop.ttl == ++ttl; });
    return gapless ? nullptr : "hops from TTL 1, without gaps";
  }
};

template <>
struct Fields<probe::path::MtuFinding> {
  using M = probe::path::MtuFinding;
  static constexpr FieldList kList{
      field("path_mtu_bytes", &M::path_mtu_bytes, "largest packet that arrived").between(0, 65536),
      field("interface_mtu_bytes", &M::interface_mtu_bytes,
            "largest packet that this host's interface sends")
          .between(0, 65536),
      field("limited_by", &M::limited_by, "address of the router that answered \"too big\" last"),
      field("announced_bytes", &M::announced_bytes, "packet size that its answer allows")
          .between(0, 65536),
      field("black_hole_from_bytes", &M::black_hole_from_bytes,
            "smallest packet that vanished without an answer")
          .between(0, 65536),
      field("confirmed", &M::confirmed, "whether at least a small packet arrived"),
      field("complete", &M::complete, "whether the search ended before time ran out"),
      field("tries", &M::tries, "packets sent for the search").between(0, 1000)};
};

template <>
struct Fields<probe::path::BlackHole> {
  using B = probe::path::BlackHole;
  static constexpr FieldList kList{
      field("packet_bytes", &B::packet_bytes, "size of the packets that vanish").between(0, 65536),
      field("last_before", &B::last_before,
            "last hop that they reach; null: right behind this host"),
      field("first_behind", &B::first_behind, "first hop that they do not reach")};
};

template <>
struct Fields<probe::path::Survey> {
  using S = probe::path::Survey;
  static constexpr FieldList kList{
      field("trace", &S::trace, "the hops"), field("mtu", &S::mtu, "search for the largest packet"),
      field("black_hole", &S::black_hole, "where large packets vanish")};
};

template <>
struct Fields<probe::path::Parameters> {
  using P = probe::path::Parameters;
  static constexpr FieldList kList{
      field("protocol", &P::protocol, "of the probes"),
      field("port", &P::port, "the client's port, to which the server connects, with tcp")
          .at_least(1),
      field("max_hops", &P::max_hops, "largest time to live that is tried").between(1, 64),
      field("probes", &P::probes, "sent with each time to live").between(1, 10),
      field("time_s", &P::time, "after which the probe ends").between(0.1, 600).in_seconds(),
      field("search_mtu", &P::search_mtu, "whether the largest packet is searched")};
};

template <>
struct Fields<probe::path::GreetingTarget> {
  using I = probe::path::GreetingTarget;
  static constexpr FieldList kList{
      field("udp_port", &I::udp_port, "the server's, for the search of the largest packet")
          .at_least(1),
      field("token", &I::token, "that the search's packets carry").up_to_bytes(64)};
};

}  // namespace chokepoint

namespace chokepoint::probe::path {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;

constexpr std::string_view kGreeting = "ckpg";
constexpr std::string_view kWelcome = "ckpw";
constexpr std::chrono::milliseconds kRepeat{100};

bool welcomed(int fd) {
  std::array<char, 16> datagram{};
  const ssize_t got = recv(fd, datagram.data(), datagram.size(), MSG_DONTWAIT);
  return got > 0 && std::string_view(datagram.data(), static_cast<std::size_t>(got)) == kWelcome;
}

Result<UdpGreeter> start_greeter(Session& session) {
  TRY(sys::Descriptor socket, net::bind_udp({.address = session.local().address}, {}));
  TRY(const net::Endpoint local, net::local_endpoint(socket.get()));
  const std::string token = control::random_id();
  TRY(session.send(Type::Ready,
                   json::to_json(GreetingTarget{.udp_port = local.port, .token = token})));
  return UdpGreeter(std::move(socket), session.peer().address, token);
}

// Answers greetings until the client sends Begin, and whether UDP passes.
class AwaitBegin final : public control::TestEnd {
 public:
  AwaitBegin(Session& session, UdpGreeter& greeter)
      : TestEnd(session.channel(), kKind), greeter_(greeter) {}

  Result<bool> turn(const net::Deadline& deadline) override {
    const Result<> greeted =
        net::wait_for(greeter_.descriptor(), POLLIN, deadline.at_most(control::kMessageInterval),
                      "wait for", channel().peer());
    if (greeted) {
      greeter_.answer();
    } else if (greeted.error().kind != ErrorKind::Timeout) {
      return std::unexpected(greeted.error());
    }
    return true;
  }
  Result<> receive(const Message& message) override {
    if (message.type != Type::Begin) {
      return fail_out_of_turn(message);
    }
    TRY(const bool udp, json::field_in<bool>(message.body, "udp", "path begin"));
    has_begun_ = true;
    udp_passes_ = udp && greeter_.met();
    return {};
  }
  Result<> look(net::Deadline& /*deadline*/) override { return {}; }
  bool is_done() const override { return has_begun_; }
  bool udp_passes() const { return udp_passes_; }

 private:
  UdpGreeter& greeter_;
  bool has_begun_ = false;
  bool udp_passes_ = false;
};

// Keeps echoing until the client sends Stop, leaves, or time is up.
void echo_until_stopped(UdpProber& flow, std::chrono::nanoseconds wait) {
  const net::Deadline deadline = net::Deadline::of(wait);
  while (!deadline.over() && flow.collect(control::kMessageInterval)) {
  }
}

Result<> survey_together(Session& session, UdpGreeter& greeter, const Parameters& parameters,
                         int interrupt) {
  TRY(sys::Descriptor socket, greeter.release());
  const sys::Clock& clock = session.context().clock;
  TRY(UdpProber flow, UdpProber::adopt(std::move(socket), interrupt, clock));
  TRY(session.send(Type::Begin));
  SurveyOptions options = survey_options(parameters);
  options.origin = {.source = session.local().address, .interrupt = interrupt};
  TRY(const Survey found,
      survey(flow, options, clock, clock.monotonic_ns() + parameters.time.count()));
  TRY(session.send(Type::Report, body_of(found)));
  echo_until_stopped(flow, parameters.time + control::kAnswer);
  return {};
}

// Where UDP does not pass between the two, the path is traced by connection attempts to the
// client's address and the port that it named.
Result<> survey_alone(Session& session, const Parameters& parameters, int interrupt) {
  TRY(session.send(Type::Begin));
  const sys::Clock& clock = session.context().clock;
  Parameters by_tcp = parameters;
  by_tcp.protocol = Protocol::Tcp;
  by_tcp.search_mtu = false;
  SurveyOptions options = survey_options(by_tcp);
  options.origin = {.source = session.local().address, .interrupt = interrupt};
  TRY(const Survey found, survey(session.peer().address, options, clock,
                                 clock.monotonic_ns() + parameters.time.count()));
  return session.send(Type::Report, body_of(found));
}

class PathService final : public control::TestService<Parameters, parameters_in> {
 public:
  std::string_view kind() const override { return kKind; }

 private:
  Result<control::Demand> demand(const Parameters& parameters,
                                 const control::Limits& limits) const override {
    TRY(path::check(parameters, limits));
    return control::Weight::Light;
  }

  Result<Json> run(Session& session, const Parameters& parameters) override {
    TRY(UdpGreeter greeter, start_greeter(session));
    AwaitBegin begin(session, greeter);
    TRY(drive(begin, session.deadline(control::kSetUp)));
    TRY(const sys::Descriptor interrupt, session.end_signal(EPOLLIN));
    TRY(begin.udp_passes() ? survey_together(session, greeter, parameters, interrupt.get())
                           : survey_alone(session, parameters, interrupt.get()));
    TRY(session.channel().expect(Type::Stop, session.deadline(parameters.time + control::kAnswer)));
    return Json::object();
  }
};

}  // namespace

Json body_of(const Parameters& parameters) { return json::to_json(parameters); }

Result<Parameters> parameters_in(const Json& body) {
  return json::from_json<Parameters>(body, "path request");
}

Result<GreetingTarget> greeting_target_in(const Json& body) {
  return json::from_json<GreetingTarget>(body, "path ready");
}

Result<> check(const Parameters& parameters, const control::Limits& limits) {
  return control::check_time(limits, parameters.time);
}

SurveyOptions survey_options(const Parameters& parameters) {
  SurveyOptions options{.protocol = parameters.protocol,
                        .plan = {.max_hops = parameters.max_hops, .probes = parameters.probes},
                        .search_mtu = parameters.search_mtu};
  if (parameters.protocol == Protocol::Tcp) {
    options.port = parameters.port;
  }
  return options;
}

Json body_of(const Survey& survey) { return json::to_json(survey); }

Result<Survey> survey_in(const Json& body) {
  TRY(Survey survey, json::from_json<Survey>(body, "path report"));
  // The peer's two clocks may disagree a little about a probe: that is no reason to refuse it all.
  const auto bound = [](Hop& hop) {
    for (double& rtt_ms : hop.rtt_ms) {
      rtt_ms = std::clamp(rtt_ms, 0.0, 600'000.0);
    }
  };
  std::ranges::for_each(survey.trace.hops, bound);
  if (survey.black_hole) {
    bound(survey.black_hole->first_behind);
    if (survey.black_hole->last_before) {
      bound(*survey.black_hole->last_before);
    }
  }
  return survey;
}

Result<sys::Descriptor> introduce(const net::Address& own, const net::Endpoint& server,
                                  const std::string& token, const net::Deadline& deadline) {
  TRY(sys::Descriptor socket, net::bind_udp({.address = own}, {}));
  TRY(net::connect_udp(socket.get(), server));
  const std::string greeting = std::string(kGreeting) + token;
  while (!deadline.over()) {
    // An error here may be that of an earlier greeting, so it is ignored: a lasting one leads to
    // the timeout.
    std::ignore = send(socket.get(), greeting.data(), greeting.size(), MSG_DONTWAIT);
    const Result<> waited =
        net::wait_for(socket.get(), POLLIN, deadline.at_most(kRepeat), "greet", server.text());
    if (waited && welcomed(socket.get())) {
      return socket;
    }
    if (!waited && waited.error().kind != ErrorKind::Timeout) {
      return std::unexpected(waited.error());
    }
    if (waited) {
      // Readable by an error: the next attempt would fail at once as well.
      std::ignore = net::wait_for(-1, 0, deadline.at_most(kRepeat), "greet", server.text());
    }
  }
  return fail(ErrorKind::Timeout, "greet", server.text(), "UDP does not pass");
}

void UdpGreeter::answer() {
  std::array<char, 128> datagram{};
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  const ssize_t got = recvfrom(socket_.get(), datagram.data(), datagram.size(), MSG_DONTWAIT,
                               reinterpret_cast<sockaddr*>(&storage), &length);
  if (got <= 0) {
    return;
  }
  const Result<net::Endpoint> from = net::Endpoint::from_socket(storage);
  const std::string_view text(datagram.data(), static_cast<std::size_t>(got));
  if (!from || from->address != client_ || text != std::string(kGreeting) + token_) {
    return;
  }
  met_ = true;
  from_ = *from;
  std::ignore = sendto(socket_.get(), kWelcome.data(), kWelcome.size(), MSG_DONTWAIT,
                       reinterpret_cast<const sockaddr*>(&storage), length);
}

Result<sys::Descriptor> UdpGreeter::release() {
  TRY(net::connect_udp(socket_.get(), from_));
  return std::move(socket_);
}

std::unique_ptr<control::Service> path_service() { return std::make_unique<PathService>(); }

}  // namespace chokepoint::probe::path
