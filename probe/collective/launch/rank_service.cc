#include "probe/collective/launch/rank_service.h"

#include <poll.h>

#include <algorithm>
#include <cstdlib>

#include "base/control/bodies.h"
#include "base/control/fields.h"
#include "base/host/network.h"
#include "probe/collective/launch/children.h"
#include "probe/collective/order.h"
#include "probe/collective/way.h"

namespace chokepoint::probe::collective {
namespace {

using control::Json;
using control::Message;
using control::Session;
using control::Type;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMaxNameLength = 64;
constexpr int kMaxGpus = 1024;
constexpr int kMaxTimeout = 3600;

// An interface, an address or an algorithm, and nothing that could be taken for a flag.
bool is_plain(const std::string& text) {
  const auto plain = [](unsigned char each) {
    return std::isalnum(each) != 0 ||
           std::string_view("_.:-%@,=^").contains(static_cast<char>(each));
  };
  return !text.starts_with('-') && std::ranges::all_of(text, plain);
}

constexpr milliseconds kReportEvery{50};
constexpr seconds kAnswer{10};
constexpr std::size_t kMaxJobLength = 255;
constexpr std::size_t kHexSecret = 64;

RankPlacement placement_of(const RanksWanted& wanted, int index, const Session& session) {
  const net::Address peer = session.peer().address.unmapped();
  return {.place = {.rank = wanted.first + index, .ranks = wanted.ranks, .local_rank = index},
          .launcher = "chokepoint",
          .job = wanted.job,
          .meeting = {peer.text(), wanted.port},
          .secret = wanted.secret};
}

bool names_interface() {
  return std::getenv("GLOO_SOCKET_IFNAME") != nullptr ||
         std::getenv("NCCL_SOCKET_IFNAME") != nullptr;
}

// If no interface is named: the one of the client's connection. Gloo itself would take the address
// of the host's name, which on many hosts is loopback, and of an interface the first address, which
// others may not reach: it gets the address. NCCL takes only interfaces, and a link-local address
// is nothing without its interface.
RankOptions with_interface(RankOptions options, const Session& session) {
  const net::Address local = session.local().address.unmapped();
  if (!options.interface.empty() || local.is_loopback() || names_interface()) {
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

Result<> report_ends(Session& session, Children& children) {
  TRY(const std::vector<ChildEnd> ends, children.ended());
  for (const ChildEnd& end : ends) {
    if (end.status == sys::ExitStatus{}) {
      continue;
    }
    TRY(session.channel().send({Type::Report, body_of(end)}, session.patience(kAnswer)));
  }
  return {};
}

// True once the client has sent Stop.
Result<bool> has_stop(Session& session) {
  TRY(const std::optional<Message> message, session.channel().poll());
  if (message && message->type != Type::Stop) {
    return fail(ErrorKind::Malformed, "read message", session.channel().peer(),
                "it came while ranks were running");
  }
  return message.has_value();
}

// Until the client sends Stop, even if all ranks have ended, or the time is over.
Result<Json> watch(Session& session, Children& children) {
  const net::Patience patience = session.patience(session.limits().longest_test);
  while (true) {
    const Result<> waited = net::wait_for(session.channel().descriptor(), POLLIN,
                                          patience.at_most(kReportEvery), "wait", "ranks");
    if (!waited && waited.error().kind == ErrorKind::Interrupted) {
      return std::unexpected(waited.error());
    }
    TRY(report_ends(session, children));
    TRY(const bool stop, has_stop(session));
    if (stop) {
      return Json::object();
    }
    if (patience.over()) {
      return fail(ErrorKind::Timeout, "", "ranks", "took longer than this server's longest test",
                  "start it with a larger --max-time");
    }
  }
}

}  // namespace

std::vector<std::string> command_of(const std::string& program, const RankOptions& options) {
  std::vector<std::string> command{program, "probe", "collective", "--backend=" + options.backend,
                                   "--timeout=" + std::to_string(options.timeout.count())};
  if (!options.interface.empty()) {
    command.push_back("--interface=" + options.interface);
  }
  if (!options.algorithm.empty()) {
    command.push_back("--algorithm=" + options.algorithm);
  }
  if (options.gpu) {
    command.push_back("--gpu=" + std::to_string(*options.gpu));
  }
  return command;
}

control::Json body_of(const RankOptions& options) {
  return {{"backend", options.backend},
          {"interface", options.interface},
          {"algorithm", options.algorithm},
          {"gpu", control::or_null(options.gpu)},
          {"timeout_s", options.timeout.count()}};
}

Result<RankOptions> rank_options_in(const control::Json& body) {
  control::Fields in(body, "ranks");
  RankOptions options{.backend = in.text("backend", kMaxNameLength),
                      .interface = in.text("interface", kMaxNameLength),
                      .algorithm = in.text("algorithm", kMaxNameLength)};
  if (const auto gpu = in.maybe_integer("gpu", 0, kMaxGpus)) {
    options.gpu = static_cast<int>(*gpu);
  }
  options.timeout = std::chrono::seconds(in.integer("timeout_s", 1, kMaxTimeout));
  for (const std::string& text : {options.backend, options.interface, options.algorithm}) {
    if (!is_plain(text)) {
      return fail(ErrorKind::Malformed, "read message", "ranks", "a name with odd characters");
    }
  }
  return in.finish(std::move(options));
}

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
                     .job = in.text("job", kMaxJobLength),
                     .secret = secret.value_or(control::Secret{}),
                     .port = static_cast<std::uint16_t>(in.integer("port", 1, UINT16_MAX)),
                     .ranks = static_cast<int>(in.integer("ranks", 1, kMaxRanks)),
                     .first = static_cast<int>(in.integer("first", 0, kMaxRanks - 1)),
                     .count = static_cast<int>(in.integer("count", 1, kMaxRanksPerHost))};
  if (!secret || wanted.first + wanted.count > wanted.ranks) {
    return fail(ErrorKind::Malformed, "read message", "ranks",
                secret ? "more of them than the job has" : "no secret");
  }
  return in.finish(std::move(wanted));
}

Result<control::Weight> RankService::check(const Json& parameters,
                                           const control::Limits& limits) const {
  // Each test of ranks takes the host's memory for itself.
  if (parameters.contains("share")) {
    return fail(ErrorKind::Usage, "", "ranks", "share no host with other tests");
  }
  TRY(const RanksWanted wanted, ranks_wanted_in(parameters));
  TRY(control::check_streams(limits, wanted.count));
  return control::Weight::Heavy;
}

Result<Json> RankService::serve(Session& session, const Json& parameters) {
  TRY(const RanksWanted wanted, ranks_wanted_in(parameters));
  Children children(session.surroundings().clock, true);
  const std::vector<std::string> command =
      command_of(program_, with_interface(wanted.options, session));
  for (int i = 0; i < wanted.count; ++i) {
    TRY(children.start(command, placement_of(wanted, i, session), wanted.count));
  }
  TRY(session.channel().send({Type::Ready}, session.patience(kAnswer)));
  return watch(session, children);
}

}  // namespace chokepoint::probe::collective
