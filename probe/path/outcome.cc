#include "probe/path/outcome.h"

#include <algorithm>
#include <vector>

#include "base/control/deadlines.h"
#include "base/control/test_driver.h"
#include "base/net/socket.h"
#include "probe/path/udp_prober.h"

namespace chokepoint::probe::path {
namespace {

using control::Client;
using control::Json;
using control::kAnswer;
using control::Type;
using net::Deadline;
using std::chrono::seconds;

constexpr seconds kGreetingTime{2};

Result<GreetingTarget> ask(Client& client, const Parameters& parameters, int interrupt) {
  TRY(const Json ready, client.request(std::string(kKind), body_of(parameters),
                                       Deadline::of(kAnswer, interrupt), [](const auto&) {}));
  return greeting_target_in(ready);
}

Result<UdpProber> open_flow(Client& client, const GreetingTarget& target,
                            const SurveyOptions& options, const sys::Clock& clock) {
  TRY(const net::Endpoint own, net::local_endpoint(client.channel().descriptor()));
  const net::Endpoint server{.address = client.peer().address, .port = target.udp_port};
  TRY(sys::Descriptor socket, introduce(own.address, server, target.token,
                                        Deadline::of(kGreetingTime, options.origin.interrupt)));
  return UdpProber::adopt(std::move(socket), options.origin.interrupt, clock);
}

Result<> begin(Client& client, bool udp) {
  const Deadline deadline = Deadline::of(kAnswer);
  TRY(client.channel().send({Type::Begin, {{"udp", udp}}}, deadline));
  TRY(client.channel().expect(Type::Begin, deadline));
  return {};
}

// Where UDP does not pass: by connection attempts to the server's port.
Result<Survey> survey_by_tcp(const Client& client, SurveyOptions options, const sys::Clock& clock,
                             std::int64_t until_ns) {
  options.protocol = Protocol::Tcp;
  options.port = client.peer().port;
  options.search_mtu = false;
  return survey(client.peer().address, options, clock, until_ns);
}

// Until the server has reported the reverse path, or what it has found of it when the user
// interrupts. Where there is a flow it echoes the server's probes meanwhile.
class ReverseEnd final : public control::ClientEnd {
 public:
  ReverseEnd(Client& client, UdpProber* flow)
      : ClientEnd(client, kKind, Ending::ByStop), flow_(flow) {}

  bool has_survey() const { return survey_.has_value(); }
  Result<Survey> survey() {
    return survey_ ? Result<Survey>(*std::move(survey_))
                   : fail(ErrorKind::Malformed, kKind, channel().peer(), "it reported nothing");
  }

 private:
  Result<bool> turn(const Deadline& deadline) override {
    if (flow_ == nullptr || is_stopped()) {
      return wait_for_message(deadline, control::kMessageInterval);
    }
    const auto collected = flow_->collect(control::kMessageInterval);
    if (!collected && collected.error().kind != ErrorKind::Interrupted) {
      return std::unexpected(collected.error());
    }
    return true;
  }
  Result<> take_report(const Json& body) override {
    TRY(survey_, survey_in(body));
    return {};
  }
  bool has_ended() const override { return is_stopped() || survey_; }
  void stop() override {}

  UdpProber* flow_;
  std::optional<Survey> survey_ = {};
};

// Surveys the path from both ends at once: this end the forward path, while the server surveys and
// reports the reverse one. An error where not even the forward path could be surveyed.
Result<> survey_both(Client& client, const LookOptions& options, const sys::Clock& clock,
                     std::int64_t until_ns, FamilyOutcome& into) {
  const SurveyOptions& own = options.survey;
  const int interrupt = own.origin.interrupt;
  TRY(const GreetingTarget target, ask(client, options.parameters, interrupt));
  Result<UdpProber> flow = open_flow(client, target, own, clock);
  TRY(begin(client, flow.has_value()));
  TRY(into.forward,
      flow ? survey(*flow, own, clock, until_ns) : survey_by_tcp(client, own, clock, until_ns));
  into.udp_passes = flow.has_value();
  const std::int64_t left_ns = std::max<std::int64_t>(until_ns - clock.monotonic_ns(), 0);
  const Deadline deadline = Deadline::of(std::chrono::nanoseconds(left_ns) + kAnswer, interrupt);
  ReverseEnd end(client, flow ? &*flow : nullptr);
  const Result<> driven = drive(end, deadline);
  Result<Survey> reverse = driven || end.has_survey() ? end.survey() : fail(driven.error());
  if (reverse) {
    into.reverse = std::move(*reverse);
  } else {
    into.no_reverse = describe(reverse.error());
  }
  return {};
}

constexpr std::int64_t kWaitNs = 1'000'000'000;

enum class Seen { Nothing, AsExpected, Otherwise };

// Of two probes whose sequence numbers are their TTLs.
struct Expectation {
  int ttl = 0;
  Seen there = Seen::Nothing;
  Seen before = Seen::Nothing;

  void take(const Reply& reply) {
    if (reply.sequence == static_cast<std::uint32_t>(ttl)) {
      there = reply.kind == ReplyKind::Reached ? Seen::AsExpected : Seen::Otherwise;
    } else if (reply.sequence == static_cast<std::uint32_t>(ttl - 1)) {
      before = reply.kind == ReplyKind::Expired ? Seen::AsExpected : Seen::Otherwise;
    }
  }
  bool met() const { return there == Seen::AsExpected && (ttl == 1 || before == Seen::AsExpected); }
  bool broken() const { return there == Seen::Otherwise || before == Seen::Otherwise; }
};

bool send_both(UdpProber& prober, int ttl) {
  for (int i = std::max(ttl - 1, 1); i <= ttl; ++i) {
    if (!prober.send({.sequence = static_cast<std::uint32_t>(i), .ttl = i})) {
      return false;
    }
  }
  return true;
}

// Whether an address is exactly `ttl` hops away: a probe with that TTL must be answered by the
// address itself, and one with a TTL less by one must expire on the path. Blocks for at most a
// second. nullopt where the answers do not show it.
std::optional<bool> is_at(const net::Address& address, int ttl, const Origin& origin,
                          const sys::Clock& clock) {
  auto prober =
      UdpProber::open({.address = address, .port = kTracePort}, origin, kSmallPacketBytes, clock);
  if (!prober || !send_both(*prober, ttl)) {
    return std::nullopt;
  }
  Expectation expected{.ttl = ttl};
  const std::int64_t until_ns = clock.monotonic_ns() + kWaitNs;
  while (clock.monotonic_ns() < until_ns && !expected.met() && !expected.broken()) {
    const auto replies = prober->collect(std::chrono::nanoseconds(until_ns - clock.monotonic_ns()));
    if (!replies) {
      return std::nullopt;
    }
    std::ranges::for_each(*replies, [&](const Reply& reply) { expected.take(reply); });
  }
  return expected.met() || expected.broken() ? std::optional(expected.met()) : std::nullopt;
}

// For the routers that answered in both traces, with different addresses.
Placements place(const std::vector<RouterMatch>& routers, const Origin& origin,
                 const sys::Clock& clock, std::int64_t until_ns) {
  Placements placements;
  for (const RouterMatch& router : routers) {
    const bool undecided = router.forward && router.reverse && router.forward != router.reverse;
    if (!undecided || clock.monotonic_ns() >= until_ns) {
      continue;
    }
    if (const auto placed = is_at(*router.reverse, router.ttl, origin, clock)) {
      placements.emplace(*router.reverse, *placed);
    }
  }
  return placements;
}

std::string why_no_peer(const FamilyFacts& facts, bool alone) {
  if (alone) {
    return "the peer was not asked";
  }
  if (facts.connection == Connection::Refused) {
    return "no 'chokepoint serve' runs there";
  }
  return "no 'chokepoint serve' answers there: " + facts.reason;
}

void look_alone(const LookOptions& options, const sys::Clock& clock, std::int64_t until_ns,
                FamilyOutcome& into) {
  Result<Survey> found = survey(into.facts.addresses.front(), options.survey, clock, until_ns);
  if (found) {
    into.forward = std::move(*found);
  } else {
    into.no_forward = describe(found.error());
  }
}

// Routers that the addresses leave undecided are probed for their distance.
Symmetry symmetry_of(const Survey& forward, const Survey& reverse, const Origin& origin,
                     const sys::Clock& clock, std::int64_t until_ns) {
  const Symmetry by_address = compare(forward.trace, reverse.trace, {});
  const Placements placements = place(by_address.routers, origin, clock, until_ns);
  return placements.empty() ? by_address : compare(forward.trace, reverse.trace, placements);
}

// False where the path could not be surveyed from both ends; `no_reverse` then has the reason.
bool look_from_both(const LookOptions& options, const Connect& connect, const sys::Clock& clock,
                    std::int64_t until_ns, FamilyOutcome& into) {
  if (options.alone || into.facts.connection != Connection::Connected) {
    into.no_reverse = why_no_peer(into.facts, options.alone);
    return false;
  }
  Result<control::Client> client = connect(into.facts.family);
  if (!client) {
    into.no_reverse = describe(client.error());
    return false;
  }
  const Result<> both = survey_both(*client, options, clock, until_ns, into);
  if (!both) {
    into.no_reverse = describe(both.error());
    return false;
  }
  client->bye();
  return true;
}

}  // namespace

FamilyOutcome look(const FamilyFacts& facts, const LookOptions& options, const Connect& connect,
                   const sys::Clock& clock, std::int64_t until_ns) {
  FamilyOutcome outcome{.facts = facts};
  if (!facts.source) {
    outcome.no_forward = facts.resolves() ? facts.reason : "the name has no such address";
    outcome.no_reverse = outcome.no_forward;
  } else if (!look_from_both(options, connect, clock, until_ns, outcome)) {
    look_alone(options, clock, until_ns, outcome);
  }
  if (outcome.forward && outcome.reverse) {
    outcome.symmetry =
        symmetry_of(*outcome.forward, *outcome.reverse, options.survey.origin, clock, until_ns);
  } else {
    outcome.symmetry.why = "the reverse path is not known";
  }
  return outcome;
}

}  // namespace chokepoint::probe::path
