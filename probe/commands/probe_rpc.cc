// chokepoint probe rpc: how many calls a path carries, how long each takes, and what limits it. The
// document chokepoint.probe.rpc/1 and one live line per interval. One thread.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/command.h"
#include "base/cli/output.h"
#include "base/control/client.h"
#include "base/control/deadlines.h"
#include "base/documents/main_figures.h"
#include "base/json/codec.h"
#include "base/math/units.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "measure/baseline/baseline.h"
#include "measure/trials/trials.h"
#include "probe/commands/directions.h"
#include "probe/commands/flag_checks.h"
#include "probe/commands/kinds.h"
#include "probe/commands/rpc_page.h"
#include "probe/rpc/outcome.h"

namespace chokepoint::probe {
namespace {

// Of the same calls over the other family.
constexpr std::chrono::seconds kLookAtOther{1};
constexpr std::chrono::seconds kExamine{5};

documents::RpcFamily family_of(const path::FamilyFacts& facts) {
  return {.addresses = facts.addresses,
          .connection = facts.connection,
          .reason = facts.reason,
          .connect_ms = facts.connect_ms};
}

// A line on standard error for each interval, on a terminal only.
void show_live(const cli::Context& context, const rpc::Interval& interval) {
  if (!context.err_terminal.interactive || context.quiet) {
    return;
  }
  const double duration_s = interval.end_s - interval.start_s;
  fmt::print(
      context.err, "{:7.1f} s  {:>8} calls/s  mean {}, longest {}\n", interval.end_s,
      math::three_digits(duration_s > 0 ? static_cast<double>(interval.calls) / duration_s : 0),
      interval.mean_ms ? math::format_ms(*interval.mean_ms) : "-",
      interval.max_ms ? math::format_ms(*interval.max_ms) : "-");
  context.err << std::flush;
}

Result<> check_size(std::string_view flag, const math::Bytes& size) {
  if (size.count < 1 || size.count > rpc::kMaxMessageBytes) {
    return fail(ErrorKind::Usage, "", flag, "must be 1 byte to 1 GiB");
  }
  return {};
}

class ProbeRpcCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "probe rpc",
        .purpose = "latency and rate of remote procedure calls, and what limits them",
        .description =
            "Makes calls, a request and its answer, to a peer that runs 'chokepoint serve', like "
            "jobs that train over remote procedure calls (torch.distributed.rpc). It reports "
            "calls a "
            "second, latency, how long the peer held a call and how long it was in the network, "
            "CPU "
            "use of both hosts, and in one sentence what limited the calls: round trips, the "
            "congestion window, loss, a full path, a host.\n\n"
            "With more hosts it is a chain, like a pipeline of remote stages: each worker calls "
            "the "
            "next one while it handles a call, and answers when that one has answered. The latency "
            "is then that of a whole round, out and back, and the result has each worker's share. "
            "Each host resolves the next one's name; servers call others only if all have one "
            "key.\n\n"
            "A name with addresses of both families is tried over both, and a difference that "
            "matters is reported.",
        .examples = {{"chokepoint probe rpc voyager", "small calls, one after the other"},
                     {"chokepoint probe rpc voyager --request 1M --response 4K --outstanding 8",
                      "eight calls at once on a connection"},
                     {"chokepoint probe rpc stage1 stage2 stage3 --request 4M --key-file KEY",
                      "a round through three workers"},
                     {"chokepoint probe rpc voyager --outstanding 1,2,4,8 --repeat 10",
                      "whether more calls at once give a higher rate"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to measure")
        .option("request", &request_, "SIZE", "of a call, there")
        .option("response", &response_, "SIZE", "of its answer")
        .option("outstanding", &outstanding_, "N", "calls of a caller at once", 1,
                rpc::kMaxOutstanding)
        .option("callers", &callers_, "N", "callers, a connection each", 1, rpc::kMaxCallers)
        .option("pause", &pause_, "TIME", "of a caller, from an answer to its next call")
        .option("time,t", &time_, "TIME", "duration")
        .option("interval", &interval_, "TIME",
                "interval of the printed lines and of the rows of the result")
        .toggle("share", &share_, "run at the same time as other shared tests, instead of queueing")
        .group("How to send")
        .option("congestion", &congestion_, "NAME", "congestion control: cubic, bbr, reno …")
        .choice("no-delay", &no_delay_, {"on", "off"},
                "off: with Nagle's algorithm, the default of sockets");
    control::define(flags, peer_);
    flags.positional("NEXT", &next_, "workers of a chain, each called by the one before", false);
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    TRY(const sys::Signals signals, sys::Signals::watch_for_end());
    cli::Json document = cli::document(context, Fields<documents::ProbeRpc>::kSchema);
    TRY(const control::ClientOptions options, client_options(peer_, context));
    TRY(rpc::Parameters wanted, parameters(options));
    TRY(control::Client client,
        control::Client::connect(options,
                                 net::Deadline::of(control::kConnect, signals.descriptor())));
    fit_pace(wanted.pace_bits_per_s, client.admittance().limits, context);
    TRY(const rpc::Trial trial, measure(client, wanted, interval_, signals.descriptor(), context));
    baseline::ask_peer(client, baseline_, context, signals.descriptor(), document);
    client.bye();
    RpcMeasured measured{.parameters = trial.parameters,
                         .document = outcome_of(trial, sys::host_name(context.root))};
    measured.document.peer = peer_of(peer_, client);
    look_at_name(measured, options, signals.descriptor(), context);
    document.update(json::to_json(measured.document));
    return baseline::answer(
        context, baseline_,
        {.kind = "rpc", .peer = measured.document.peer.called(), .document = std::move(document)},
        measured.document.interrupted, [&] { print_page(context, measured); });
  }

 private:
  Result<rpc::Parameters> parameters(const control::ClientOptions& options) const {
    TRY(check_size("--request", request_));
    TRY(check_size("--response", response_));
    TRY(check_time(time_));
    TRY(check_interval(interval_));
    if (next_.size() > rpc::kMaxNext) {
      return fail(ErrorKind::Usage, "", "NEXT",
                  fmt::format("a chain has at most {} hosts", rpc::kMaxNext + 1));
    }
    rpc::Parameters parameters{.request_bytes = request_.count,
                               .response_bytes = response_.count,
                               .callers = static_cast<int>(callers_),
                               .outstanding = static_cast<int>(outstanding_),
                               .time = time_,
                               .pause = pause_,
                               .congestion = congestion_,
                               .no_delay = no_delay_ == "on",
                               .share = share_};
    if (options.family) {
      parameters.family =
          *options.family == net::Family::Ipv4 ? rpc::OnlyFamily::Ipv4 : rpc::OnlyFamily::Ipv6;
    }
    std::vector<std::pair<std::string, std::uint16_t>> seen{{options.peer.host, options.peer.port}};
    for (const std::string& each : next_) {
      TRY(const net::HostPort host, net::parse_host_port(each, options.peer.port));
      if (std::ranges::find(seen, std::pair(host.host, host.port)) != seen.end()) {
        return fail(ErrorKind::Usage, "", each, "is in the chain twice",
                    "a worker that handles a call cannot be called again for it");
      }
      seen.emplace_back(host.host, host.port);
      parameters.next.push_back({.host = host.host, .port = host.port});
    }
    return parameters;
  }

  static Result<rpc::Trial> measure(control::Client& client, const rpc::Parameters& wanted,
                                    std::chrono::nanoseconds interval, int interrupt,
                                    const cli::Context& context) {
    return rpc::run(
        client, wanted,
        {.root = context.root,
         .interval = interval,
         .program = "chokepoint " + context.version,
         .interrupt = interrupt},
        [&](const rpc::Interval& each) { show_live(context, each); },
        [&](const std::string& why) { fmt::print(context.err, "waiting: {}\n", why); });
  }

  // What the peer's name resolves to, whether both families work, and whether they do equally well.
  // The result does not need it: a failure is not reported.
  void look_at_name(RpcMeasured& measured, const control::ClientOptions& options, int interrupt,
                    const cli::Context& context) const {
    if (measured.document.interrupted || net::Address::parse(options.peer.host)) {
      return;
    }
    const auto examine = [&] {
      return path::examine(
          options.peer.host, options.peer.port,
          {.origin = {.source = options.socket.source, .interface = options.socket.interface}},
          net::Deadline::of(kExamine, interrupt));
    };
    Result<path::HostFacts> facts = examine();
    if (facts && facts->ipv4.connects() && facts->ipv6.connects()) {
      // The first connection may have waited for a link address to be resolved.
      facts = examine();
    }
    if (!facts) {
      return;
    }
    measured.name = *std::move(facts);
    documents::ProbeRpc& document = measured.document;
    document.families = {.ipv4 = family_of(measured.name->ipv4),
                         .ipv6 = family_of(measured.name->ipv6)};
    document.dual_stack_finding = path::dual_stack_finding(*measured.name);
    const net::Family other = net::other(document.peer.family);
    if (!options.family && next_.empty() && measured.name->of(other).connects()) {
      look_at_other(measured, options, other, interrupt, context);
    }
  }

  static void look_at_other(RpcMeasured& measured, control::ClientOptions options,
                            net::Family other, int interrupt, const cli::Context& context) {
    options.family = other;
    Result<control::Client> client =
        control::Client::connect(options, net::Deadline::of(control::kConnect, interrupt));
    if (!client) {
      return;
    }
    rpc::Parameters wanted = measured.parameters;
    wanted.time = std::min<std::chrono::nanoseconds>(wanted.time, kLookAtOther);
    const Result<rpc::Trial> trial = measure(*client, wanted, {}, interrupt, context);
    std::optional<std::string>& finding = measured.document.dual_stack_finding;
    if (!trial) {
      const Error& error = trial.error();
      if (error.kind != ErrorKind::Interrupted && !finding) {
        finding = fmt::format("{} resolves to IPv4 and IPv6, and over {} the same calls fail: {}",
                              options.peer.host, rpc::family_title(other), describe(error));
      }
      return;
    }
    client->bye();
    const auto look = [](const documents::ProbeRpc& outcome) {
      return documents::RpcOtherFamily{.address = outcome.hops.front().address,
                                       .calls_per_s = outcome.calls_per_s,
                                       .latency_ms = outcome.latency_ms};
    };
    measured.document.other_family = look(outcome_of(*trial, ""));
    if (!finding) {
      finding = rpc::family_difference(options.peer.host, measured.document.peer.family,
                                       look(measured.document), *measured.document.other_family);
    }
  }

  control::PeerFlags peer_;
  std::vector<std::string> next_;
  baseline::Flags baseline_;
  math::Bytes request_{1024};
  math::Bytes response_{1024};
  std::int64_t outstanding_ = 1;
  std::int64_t callers_ = 1;
  std::chrono::nanoseconds pause_{0};
  std::chrono::nanoseconds time_ = std::chrono::seconds(10);
  std::chrono::nanoseconds interval_ = std::chrono::seconds(1);
  std::string congestion_;
  std::string no_delay_ = "on";
  bool share_ = false;
};

}  // namespace

cli::CommandFactory rpc_command() {
  return trials::repeatable(cli::command<ProbeRpcCommand>(),
                            documents::figures_of(documents::schemas::kRpc));
}

}  // namespace chokepoint::probe
