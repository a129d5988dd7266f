// chokepoint probe path: which way packets go, there and back, and how large they may be. IPv4 and
// IPv6 are looked at by a thread each, at the same time.
#include <algorithm>
#include <chrono>
#include <future>

#include "base/cli/command.h"
#include "base/control/client.h"
#include "base/control/deadlines.h"
#include "base/json/codec.h"
#include "base/sys/clock.h"
#include "base/sys/signals.h"
#include "measure/baseline/baseline.h"
#include "probe/commands/kinds.h"
#include "probe/commands/path_page.h"

namespace chokepoint::probe {
namespace {

using path::Connect;
using path::FamilyOutcome;
using path::HostFacts;

constexpr std::chrono::milliseconds kTick{200};

// Both families at once: they are two paths.
void look_at_both(PathFindings& found, const path::LookOptions& options, const Connect& connect,
                  const cli::Context& context, std::int64_t until_ns) {
  const auto look = [&](const path::FamilyFacts& facts) {
    return std::async(std::launch::async,
                      [&] { return path::look(facts, options, connect, context.clock, until_ns); });
  };
  std::future<FamilyOutcome> four = look(found.host.ipv4);
  std::future<FamilyOutcome> six = look(found.host.ipv6);
  cli::Progress progress(context, "seconds spent on the path to " + found.host.name + ":", 0);
  const std::int64_t began_ns = context.clock.monotonic_ns();
  for (std::future<FamilyOutcome>* each : {&four, &six}) {
    while (each->wait_for(kTick) != std::future_status::ready) {
      progress.update(static_cast<std::uint64_t>(context.clock.monotonic_ns() - began_ns) /
                      static_cast<std::uint64_t>(sys::kNsPerSecond));
    }
  }
  found.ipv4 = four.get();
  found.ipv6 = six.get();
}

void note_trace(const FamilyOutcome& outcome, path::FamilyFacts& facts) {
  if (!outcome.forward || !outcome.forward->trace.reached) {
    return;
  }
  const std::vector<double>& rtts = outcome.forward->trace.hops.back().rtt_ms;
  facts.reached = true;
  facts.rtt_ms = *std::ranges::min_element(rtts);
}

Error unreachable(const HostFacts& host) {
  const path::FamilyFacts& facts = host.ipv4.resolves() ? host.ipv4 : host.ipv6;
  return {
      .kind = ErrorKind::Unreachable,
      .operation = "probe path",
      .subject = facts.addresses.front().text(),
      .reason = facts.reason,
      .next_step = "'ip route get " + facts.addresses.front().text() + "' shows where it would go"};
}

class ProbePathCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "probe path",
        .purpose = "routers and path MTU of the path to a host and back",
        .description =
            "Finds the routers on the path to a host, with the round-trip time and the loss to "
            "each, and the largest packet that the path carries, over IPv4 and IPv6 side by "
            "side. If 'chokepoint serve' runs on that host, the reverse path is traced at the "
            "same time, and the result shows hop by hop whether both paths use the same routers. "
            "Without it the forward path is found, to any host.\n\n"
            "Needs no privilege. Probes are UDP datagrams of one flow, so that they all take "
            "the same of several parallel paths; --tcp uses connection attempts where filters "
            "drop UDP. It reports a name that resolves to both address families if only one of "
            "them works, or if the peer listens on only one, with what to do.",
        .examples = {{"chokepoint probe path voyager", "in both directions, if voyager runs serve"},
                     {"chokepoint probe path voyager --record runs/a",
                      "stored as a baseline for a later diagnosis"},
                     {"chokepoint probe path example.org --alone --tcp --to-port 443",
                      "towards any host, by TCP to a port that is open"}}};
  }

  void define(cli::Flags& flags) override {
    control::define(flags, peer_);
    flags.group("How to probe")
        .toggle("udp,u", &udp_, "by UDP, one flow (the default)")
        .toggle("tcp", &tcp_, "by TCP connection attempts")
        .option("to-port", &to_port_, "PORT",
                "probe towards this port; 0: 33434 by UDP, the control port by TCP", 0, 65535)
        .option("max-hops,m", &max_hops_, "N", "maximum number of hops", 1, 64)
        .option("probes", &probes_, "N", "probes to every hop", 1, 10)
        .option("time,t", &time_, "TIME", "stop after this time with what is known")
        .toggle("no-mtu", &no_mtu_, "do not search for the largest packet")
        .toggle("alone", &alone_, "do not use 'chokepoint serve' at the other end");
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    if (udp_ && tcp_) {
      return fail(ErrorKind::Usage, "", "--udp, --tcp", "give only one of them");
    }
    if (time_ < std::chrono::milliseconds(100) || time_ > std::chrono::minutes(10)) {
      return fail(ErrorKind::Usage, "", "--time", "must be from 100 ms to 10 minutes");
    }
    TRY(const sys::Signals signals, sys::Signals::watch_for_end());
    cli::Json document = cli::document(context, Fields<documents::ProbePath>::kSchema);
    TRY(const control::ClientOptions peer, client_options(peer_, context));
    TRY(const PathFindings found, find(peer, context, signals.descriptor()));
    document.update(json::to_json(document_of(found)));
    // The connections over which the ways were looked at have ended.
    if (!alone_ && (found.host.ipv4.connects() || found.host.ipv6.connects())) {
      baseline::ask_peer(peer, baseline_, context, signals.descriptor(), document);
    }
    return baseline::answer(
        context, baseline_,
        {.kind = "path", .peer = found.host.name, .document = std::move(document)},
        signals.next().has_value(), [&] { print_page(context, found); });
  }

 private:
  path::LookOptions look_options(const control::ClientOptions& peer, int interrupt) const {
    path::Parameters parameters{.protocol = tcp_ ? path::Protocol::Tcp : path::Protocol::Udp,
                                .port = peer.peer.port,
                                .max_hops = static_cast<int>(max_hops_),
                                .probes = static_cast<int>(probes_),
                                .time = time_,
                                .search_mtu = !no_mtu_};
    path::LookOptions options{
        .parameters = parameters, .survey = path::survey_options(parameters), .alone = alone_};
    options.survey.origin = {
        .source = peer.socket.source, .interface = peer.socket.interface, .interrupt = interrupt};
    if (to_port_ != 0) {
      options.survey.port = static_cast<std::uint16_t>(to_port_);
    }
    return options;
  }

  Result<PathFindings> find(const control::ClientOptions& peer, const cli::Context& context,
                            int interrupt) const {
    const path::LookOptions options = look_options(peer, interrupt);
    const std::int64_t until_ns = context.clock.monotonic_ns() + time_.count();
    const auto asked_port =
        static_cast<std::uint16_t>(alone_ && to_port_ != 0 ? to_port_ : peer.peer.port);
    PathFindings found{.parameters = options.parameters};
    TRY(found.host, path::examine(peer.peer.host, asked_port,
                                  {.only = peer.family, .origin = options.survey.origin},
                                  net::Deadline::of(time_, interrupt)));
    if (!found.host.ipv4.source && !found.host.ipv6.source) {
      return fail(unreachable(found.host));
    }
    const Connect connect_over = [&](net::Family family) {
      // Uses the key that was read before: a pipe gives it only once.
      control::ClientOptions over = peer;
      over.family = over.socket.source ? over.family : family;
      return control::Client::connect(over, net::Deadline::of(control::kConnect, interrupt));
    };
    look_at_both(found, options, connect_over, context, until_ns);
    note_trace(found.ipv4, found.host.ipv4);
    note_trace(found.ipv6, found.host.ipv6);
    found.dual_stack_finding = path::dual_stack_finding(found.host);
    return found;
  }

  control::PeerFlags peer_;
  baseline::Flags baseline_;
  bool udp_ = false;
  bool tcp_ = false;
  std::int64_t to_port_ = 0;
  std::int64_t max_hops_ = 30;
  std::int64_t probes_ = 3;
  std::chrono::nanoseconds time_ = std::chrono::seconds(30);
  bool no_mtu_ = false;
  bool alone_ = false;
};

}  // namespace

cli::CommandFactory path_command() { return cli::command<ProbePathCommand>(); }

}  // namespace chokepoint::probe
