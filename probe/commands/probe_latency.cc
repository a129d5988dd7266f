// The command `probe latency`: how long small messages take, idle and while the path is filled. The
// document is chokepoint.probe.latency/1. One thread beside those of the load.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cli/command.h"
#include "base/cli/output.h"
#include "base/control/client.h"
#include "base/control/deadlines.h"
#include "base/control/test_driver.h"
#include "base/json/codec.h"
#include "base/sys/signals.h"
#include "measure/baseline/baseline.h"
#include "measure/trials/trials.h"
#include "probe/commands/flag_checks.h"
#include "probe/commands/kinds.h"
#include "probe/commands/latency_page.h"
#include "probe/latency/load.h"
#include "probe/latency/responder.h"

namespace chokepoint::probe {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Both figures of a load are stable after eleven intervals at the earliest.
constexpr int kIntervals = 12;

class ProbeLatencyCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "probe latency",
        .purpose = "latency of small messages, on the idle path and under load",
        .description =
            "Sends small messages to a peer that runs 'chokepoint serve' and measures their "
            "round trips, over TCP and UDP: first on the idle path, then while TCP connections "
            "fill it from here, then while they fill it from the peer. The latency added by the "
            "load is the bufferbloat of the path.\n\n"
            "Under load it also measures responsiveness as draft-ietf-ippm-responsiveness defines "
            "it, in round trips a minute (RPM): each second one more connection is added until the "
            "throughput is stable; then new connections beside the load, and requests within its "
            "connections, are timed until the RPM is stable, too.",
        .examples = {{"chokepoint probe latency voyager", "idle, and under load in each direction"},
                     {"chokepoint probe latency voyager --idle-only --idle 10",
                      "only the idle path, for ten seconds"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to measure")
        .option("idle", &idle_, "TIME", "duration of the test on the idle path")
        .option("time,t", &time_, "TIME", "maximum time under load, in each direction")
        .toggle("idle-only", &idle_only_, "no load")
        .toggle("no-udp", &no_udp_, "TCP alone")
        .option("gap", &gap_, "TIME", "interval between messages")
        .group("The load")
        .toggle("both", &both_, "both directions at once instead of one after the other")
        .option("interval", &interval_, "TIME",
                "time after which one more connection is added and stability is checked; at most a "
                "twelfth of --time")
        .option("streams,P", &connections_, "N", "maximum number of connections, in each direction",
                1, 64)
        .formerly("connections")
        .option("congestion", &congestion_, "NAME", "its congestion control: cubic, bbr, reno …");
    control::define(flags, peer_);
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    TRY(check());
    TRY(sys::Signals signals, sys::Signals::watch_for_end());
    cli::Json document = cli::document(context, Fields<documents::ProbeLatency>::kSchema);
    // Before the pings: its turn may have to be waited for.
    TRY(std::optional<control::Client> loader, open_load(signals.descriptor(), context));
    TRY(control::Client client, connect(peer_, context, signals.descriptor()));
    TRY(latency::Test test, latency::Test::open(client, {.time = whole_time(), .udp = !no_udp_}, {},
                                                signals.descriptor(), waiting(context)));
    TRY(LatencyMeasured measured,
        measure(test, loader ? &*loader : nullptr, signals.descriptor(), context));
    if (const Result<> closed = test.close(); closed) {
      baseline::ask_peer(client, baseline_, context, signals.descriptor(), document);
      client.bye();
    }
    if (loader) {
      std::ignore = loader->channel().send({control::Type::Stop}, net::Deadline::of(seconds(1)));
    }
    measured.document.peer = peer_of(peer_, client);
    return show(measured, std::move(document), context);
  }

 private:
  Result<> check() const {
    TRY(check_at_least("--idle", idle_, milliseconds(10)));
    TRY(check_at_least("--time", time_, milliseconds(10)));
    TRY(check_interval(interval_));
    if (both_ && idle_only_) {
      return fail(ErrorKind::Usage, "", "--both, --idle-only", "give only one of them");
    }
    return check_at_least("--gap", gap_, std::chrono::microseconds(100));
  }

  // With the time to stop each load and to await late answers.
  nanoseconds whole_time() const {
    return idle_ + (idle_only_ ? nanoseconds(0) : 2 * (time_ + control::kAnswer)) +
           control::kAnswer;
  }

  static control::Waiting waiting(const cli::Context& context) {
    return [&](const std::string& why) { fmt::print(context.err, "waiting: {}\n", why); };
  }

  // The test that carries the load; nothing without one.
  Result<std::optional<control::Client>> open_load(int interrupt,
                                                   const cli::Context& context) const {
    if (idle_only_) {
      return std::nullopt;
    }
    TRY(control::Client client, connect(peer_, context, interrupt));
    const latency::LoadRequest request{
        .time = whole_time(), .streams = load_streams(), .congestion = congestion_};
    const Result<control::Json> ready = request_test(client, latency::kResponsivenessKind,
                                                     body_of(request), interrupt, waiting(context));
    if (ready) {
      return std::optional(std::move(client));
    }
    Error error = ready.error();
    if (error.kind == ErrorKind::Unsupported) {
      error.next_step =
          "an older chokepoint knows no such test: upgrade it there, or measure with --idle-only; "
          "see also --offer of 'chokepoint serve'";
    }
    return fail(std::move(error));
  }

  int load_streams() const { return 2 * static_cast<int>(connections_); }

  std::vector<control::Direction> loads() const {
    using enum control::Direction;
    if (idle_only_) {
      return {};
    }
    return both_ ? std::vector{Both} : std::vector{Send, Receive};
  }

  Result<LatencyMeasured> measure(const latency::Test& test, control::Client* loader, int interrupt,
                                  const cli::Context& context) const {
    LatencyMeasured measured;
    measured.document.gap_ms = std::chrono::duration<double, std::milli>(gap_).count();
    if (test.udp() >= 0) {
      measured.document.udp.emplace();
    }
    if (test.udp_problem()) {
      measured.document.udp_problem = describe(*test.udp_problem());
    }
    latency::Prober prober({.tcp = test.tcp(), .udp = test.udp(), .test = test.id()}, gap_);
    TRY(measure_idle(prober, measured, interrupt, context));
    int first_probe = load_streams();
    for (const control::Direction direction : loads()) {
      if (!measured.document.interrupted) {
        latency::LoadPlan plan = plan_of(direction);
        plan.first_probe = first_probe;
        TRY(first_probe, measure_loaded(prober, measured, *loader, plan, interrupt, context));
      }
    }
    add_figures(measured);
    return measured;
  }

  latency::LoadPlan plan_of(control::Direction direction) const {
    using enum control::Direction;
    return {.sends = direction != Receive,
            .receives = direction != Send,
            .time = time_,
            .interval = std::min(interval_, time_ / kIntervals),
            .max_connections = static_cast<int>(connections_),
            .first_stream = direction == Receive ? static_cast<int>(connections_) : 0,
            .congestion = congestion_};
  }

  Result<> measure_idle(latency::Prober& prober, LatencyMeasured& measured, int interrupt,
                        const cli::Context& context) const {
    cli::show_progress(context, "idle");
    TRY(const auto phase, prober.run(1, idle_, interrupt, [] { return latency::Pinging::Count; }));
    measured.idle = {.tcp = spread_of(phase->tcp), .udp = spread_of(phase->udp)};
    measured.document.interrupted = phase->interrupted;
    return {};
  }

  // The first number for the foreign probes of the next load.
  Result<int> measure_loaded(latency::Prober& prober, LatencyMeasured& measured,
                             control::Client& loader, const latency::LoadPlan& plan, int interrupt,
                             const cli::Context& context) const {
    const bool both = plan.sends && plan.receives;
    cli::show_progress(context, both         ? "under load in both directions"
                                : plan.sends ? "under load to the peer"
                                             : "under load from the peer");
    TRY(const std::unique_ptr<latency::Load> load, latency::Load::start(loader, plan));
    const auto number = static_cast<std::uint16_t>(both ? 4 : plan.sends ? 2 : 3);
    const auto phase = prober.run(number, time_, interrupt, [&] {
      switch (load->stage()) {
        case latency::Load::Stage::Filling:
          return latency::Pinging::Discard;
        case latency::Load::Stage::Probing:
          return latency::Pinging::Count;
        case latency::Load::Stage::Done:
          break;
      }
      return latency::Pinging::End;
    });
    load->stop();
    if (!phase) {
      return std::unexpected(phase.error());
    }
    latency::LoadResult result = load->result();
    if (result.error) {
      result.error = reason_of_server(loader, *result.error, interrupt);
    }
    if (result.error && result.connections == 0) {
      return std::unexpected(*result.error);
    }
    (both         ? measured.both
     : plan.sends ? measured.send
                  : measured.receive) = latency::loaded(**phase, result, measured.idle);
    measured.document.interrupted = (*phase)->interrupted;
    return load->next_probe();
  }

  // `document` has its head already.
  Result<cli::ExitCode> show(const LatencyMeasured& measured, cli::Json document,
                             const cli::Context& context) const {
    document.update(json::to_json(measured.document));
    return baseline::answer(context, baseline_,
                            {.kind = "latency",
                             .peer = measured.document.peer.called(),
                             .direction = idle_only_ ? "" : "both",
                             .document = std::move(document)},
                            measured.document.interrupted, [&] { print_page(context, measured); });
  }

  control::PeerFlags peer_;
  baseline::Flags baseline_;
  std::chrono::nanoseconds idle_ = std::chrono::seconds(3);
  std::chrono::nanoseconds time_ = std::chrono::seconds(20);
  std::chrono::nanoseconds interval_ = std::chrono::seconds(1);
  std::chrono::nanoseconds gap_ = std::chrono::milliseconds(10);
  std::int64_t connections_ = 16;
  std::string congestion_;
  bool both_ = false;
  bool idle_only_ = false;
  bool no_udp_ = false;
};

}  // namespace

cli::CommandFactory latency_command() {
  return trials::repeatable(cli::command<ProbeLatencyCommand>(),
                            documents::figures_of(documents::schemas::kLatency));
}

}  // namespace chokepoint::probe
