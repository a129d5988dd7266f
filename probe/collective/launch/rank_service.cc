#include "probe/collective/launch/rank_service.h"

#include <poll.h>

#include <cstdlib>

#include "base/control/fields.h"
#include "base/host/network.h"
#include "probe/collective/launch/children.h"
#include "probe/collective/order.h"
#include "probe/collective/way/way.h"

namespace chokepoint::probe::collective {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kReportEvery{50};
constexpr seconds kAnswer{10};
constexpr std::size_t kLongestJob = 255;
constexpr std::size_t kHexSecret = 64;

RankPlacement seat_of(const RanksWanted& wanted, int index, const Session& session) {
  const net::Address peer = session.peer().address.unmapped();
  return {.place = {.rank = wanted.first + index, .ranks = wanted.ranks, .local_rank = index},
          .launcher = "chokepoint",
          .job = wanted.job,
          .meeting = {peer.text(), wanted.port},
          .secret = wanted.secret};
}

bool is_steered() {
  return std::getenv("GLOO_SOCKET_IFNAME") != nullptr ||
         std::getenv("NCCL_SOCKET_IFNAME") != nullptr;
}

// Where nobody named an interface: the one by which the client came. Gloo's own choice is the
// address of the host's name, which on many hosts is loopback; of an interface it would take the
// first address, which others may not reach. NCCL knows interfaces only, and link-local addresses
// mean nothing without theirs.
RankOptions with_interface(RankOptions options, const Session& session) {
  const net::Address local = session.local().address.unmapped();
  if (!options.interface.empty() || local.is_loopback() || is_steered()) {
    return options;
  }
  options.interface = options.backend == "gloo" && !local.is_link_local()
                          ? local.text()
                          : interface_of(local, host::read_addresses(session.surroundings().root));
  return options;
}

Json body_of(const ChildEnd& end) {
  return {{"rank", end.rank},
          {"code", end.status.code},
          {"signal", end.status.signal},
          {"words", end.words}};
}

Result<> report(Session& session, Children& children) {
  TRY(const std::vector<ChildEnd> ends, children.ended());
  for (const ChildEnd& end : ends) {
    if (end.status == sys::ExitStatus{}) {
      continue;
    }
    const Result<> sent =
        session.channel().send({Type::Report, body_of(end)}, session.patience(kAnswer));
    if (!sent) {
      return sent;
    }
  }
  return {};
}

// True once the client wants no more of it.
Result<bool> is_told_to_stop(Session& session) {
  TRY(const std::optional<Message> said, session.channel().poll());
  if (said && said->type != Type::Stop) {
    return fail(ErrorKind::Malformed, "read message", session.channel().peer(),
                "it came while ranks were running");
  }
  return said.has_value();
}

// Until the client wants no more of them, even where all have ended, or time is up.
Result<Json> watch(Session& session, Children& children) {
  const net::Patience patience = session.patience(session.limits().longest_test);
  while (true) {
    const Result<> waited = net::wait_for(session.channel().descriptor(), POLLIN,
                                          patience.at_most(kReportEvery), "wait", "ranks");
    if (!waited && waited.error().kind == ErrorKind::Interrupted) {
      return std::unexpected(waited.error());
    }
    TRY(report(session, children));
    const Result<bool> stop = is_told_to_stop(session);
    if (!stop || *stop) {
      return stop ? Result<Json>(Json::object()) : std::unexpected(stop.error());
    }
    if (patience.over()) {
      return fail(ErrorKind::Timeout, "", "ranks", "took longer than this server's longest test",
                  "start it with a larger --max-time");
    }
  }
}

}  // namespace

Json body_of(const RanksWanted& wanted) {
  Json body = body_of(wanted.options);
  body["job"] = wanted.job;
  body["secret"] = control::to_hex(wanted.secret);
  body["port"] = wanted.port;
  body["ranks"] = wanted.ranks;
  body["first"] = wanted.first;
  body["count"] = wanted.count;
  return body;
}

Result<RanksWanted> ranks_wanted_in(const Json& body) {
  TRY(const RankOptions options, rank_options_in(body));
  control::Fields in(body, "ranks");
  const std::optional<control::Secret> secret = control::from_hex(in.text("secret", kHexSecret));
  RanksWanted wanted{.options = options,
                     .job = in.text("job", kLongestJob),
                     .secret = secret.value_or(control::Secret{}),
                     .port = static_cast<std::uint16_t>(in.integer("port", 1, UINT16_MAX)),
                     .ranks = static_cast<int>(in.integer("ranks", 1, kMostRanks)),
                     .first = static_cast<int>(in.integer("first", 0, kMostRanks - 1)),
                     .count = static_cast<int>(in.integer("count", 1, kMostRanksPerHost))};
  if (!secret || wanted.first + wanted.count > wanted.ranks) {
    return fail(ErrorKind::Malformed, "read message", "ranks",
                secret ? "more of them than the job has" : "no secret");
  }
  return in.finish(std::move(wanted));
}

Result<control::Weight> RankService::check(const Json& parameters,
                                           const control::Limits& limits) const {
  // Ranks are given the host's memory as if nobody else were.
  if (parameters.contains("share")) {
    return fail(ErrorKind::Usage, "", "ranks", "share no host with other tests");
  }
  const Result<RanksWanted> wanted = ranks_wanted_in(parameters);
  const Result<> granted =
      wanted ? control::check_streams(limits, wanted->count) : std::unexpected(wanted.error());
  return granted ? Result<control::Weight>(control::Weight::Heavy)
                 : std::unexpected(granted.error());
}

Result<Json> RankService::serve(Session& session, const Json& parameters) {
  TRY(const RanksWanted wanted, ranks_wanted_in(parameters));
  Children children(session.surroundings().clock, true);
  const std::vector<std::string> command =
      command_of(program_, with_interface(wanted.options, session));
  for (int i = 0; i < wanted.count; ++i) {
    TRY(children.start(command, seat_of(wanted, i, session), wanted.count));
  }
  if (const Result<> ready = session.channel().send({Type::Ready}, session.patience(kAnswer));
      !ready) {
    return std::unexpected(ready.error());
  }
  return watch(session, children);
}

}  // namespace chokepoint::probe::collective
