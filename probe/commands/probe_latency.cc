#include "probe/commands/probe_latency.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "base/sys/root.h"
#include "base/sys/signals.h"

namespace chokepoint::probe {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Longer than the phase itself: it is ended by hand.
constexpr seconds kLoadMargin{10};

void tell(const cli::Context& context, std::string_view what) {
  if (context.err_terminal.interactive && !context.quiet) {
    fmt::print(context.err, "{} …\n", what);
    context.err << std::flush;
  }
}

}  // namespace

cli::Summary ProbeLatencyCommand::summary() const {
  return {.name = "probe latency",
          .purpose = "how long do small messages take, idle and while the path is full?",
          .description =
              "Sends small messages to a peer that runs 'chokepoint serve' and takes their round "
              "trips, over TCP and UDP: first on the idle path, then while TCP connections fill it "
              "from here, then while they fill it from the peer. What the load adds is the buffer "
              "bloat of the path.\n\n"
              "The load grows by a connection a second until more of them bring no more, as "
              "responsiveness tests have it; RPM, round trips a minute, is 60 s over the mean of "
              "two 90th percentiles: that of the load's own connections and that of a connection "
              "beside them.",
          .examples = {{"chokepoint probe latency voyager", "idle, and under load each way"},
                       {"chokepoint probe latency voyager --idle-only --idle 10",
                        "only the idle path, for ten seconds"}}};
}

void ProbeLatencyCommand::define(cli::Flags& flags) {
  flags.group("What to measure")
      .option("idle", &idle_, "TIME", "how long on the idle path")
      .option("time,t", &time_, "TIME", "how long under load, each way")
      .toggle("idle-only", &idle_only_, "no load")
      .toggle("no-udp", &no_udp_, "TCP alone")
      .option("gap", &gap_, "TIME", "from one message to the next")
      .group("The load")
      .option("connections,n", &connections_, "N", "how many at most, each way", 1, 64)
      .option("congestion", &congestion_, "NAME", "its congestion control: cubic, bbr, reno …");
  control::define(flags, peer_);
  baseline::define(flags, baseline_);
}

Result<> ProbeLatencyCommand::check() const {
  if (idle_ < milliseconds(10) || time_ < milliseconds(10)) {
    return fail(ErrorKind::Usage, "", idle_ < milliseconds(10) ? "--idle" : "--time",
                "must be 10 ms or more");
  }
  if (gap_ < std::chrono::microseconds(100)) {
    return fail(ErrorKind::Usage, "", "--gap", "must be 0.1 ms or more");
  }
  return {};
}

nanoseconds ProbeLatencyCommand::whole_time() const {
  return idle_ + (idle_only_ ? nanoseconds(0) : 2 * (time_ + kLoadMargin)) + kLoadMargin;
}

Result<cli::ExitCode> ProbeLatencyCommand::run(cli::Context& context) {
  TRY(check());
  Result<sys::Signals> signals = sys::Signals::watch({SIGINT, SIGTERM});
  if (!signals) {
    return std::unexpected(signals.error());
  }
  cli::Json document = cli::document(context, "chokepoint.probe.latency/1");
  TRY(control::Client client, connect(peer_, context, signals->descriptor()));
  Result<latency::Test> test = latency::Test::open(
      client, {.time = whole_time(), .udp = !no_udp_}, {}, signals->descriptor(),
      [&](const std::string& why) { fmt::print(context.err, "waiting: {}\n", why); });
  if (!test) {
    return std::unexpected(test.error());
  }
  TRY(const LatencyMeasured measured, measure(*test, signals->descriptor(), context));
  if (const Result<> closed = test->close(); closed) {
    client.bye();
  }
  return show(measured, client, std::move(document), context);
}

Result<LatencyMeasured> ProbeLatencyCommand::measure(const latency::Test& test, int interrupt,
                                                     const cli::Context& context) const {
  LatencyMeasured measured{.gap = gap_, .udp = test.udp() >= 0};
  if (test.udp_problem()) {
    measured.udp_problem = describe(*test.udp_problem());
  }
  latency::Prober prober({.tcp = test.tcp(), .udp = test.udp(), .test = test.id()}, gap_);
  Result<> done = measure_idle(prober, measured, interrupt, context);
  for (const tcp::Direction direction : {tcp::Direction::Send, tcp::Direction::Receive}) {
    if (done && !idle_only_ && !measured.interrupted) {
      done = measure_loaded(prober, measured, direction, interrupt, context);
    }
  }
  return done ? Result<LatencyMeasured>(std::move(measured)) : std::unexpected(done.error());
}

Result<> ProbeLatencyCommand::measure_idle(latency::Prober& prober, LatencyMeasured& measured,
                                           int interrupt, const cli::Context& context) const {
  tell(context, "idle");
  const auto phase = prober.run(1, idle_, interrupt, [] { return true; });
  if (!phase) {
    return std::unexpected(phase.error());
  }
  measured.idle = {.tcp = spread_of((*phase)->tcp), .udp = spread_of((*phase)->udp)};
  measured.interrupted = (*phase)->interrupted;
  return {};
}

Result<> ProbeLatencyCommand::measure_loaded(latency::Prober& prober, LatencyMeasured& measured,
                                             tcp::Direction direction, int interrupt,
                                             const cli::Context& context) const {
  const bool sends = direction == tcp::Direction::Send;
  tell(context, sends ? "under load to the peer" : "under load from the peer");
  const Result<std::unique_ptr<latency::Load>> load =
      latency::Load::start([&](int stopped) { return connect(peer_, context, stopped); },
                           {.direction = direction,
                            .time = time_ + kLoadMargin,
                            .most_connections = static_cast<int>(connections_),
                            .congestion = congestion_},
                           context.root);
  if (!load) {
    return std::unexpected(load.error());
  }
  // A load that never settles is measured all the same, in the second half.
  const auto latest = net::Patience::Clock::now() + time_ / 2;
  const auto phase = prober.run(sends ? 2 : 3, time_, interrupt, [&] {
    if (net::Patience::Clock::now() >= latest) {
      (*load)->declare_full();
    }
    return (*load)->full();
  });
  (*load)->stop();
  if (!phase) {
    return std::unexpected(phase.error());
  }
  latency::LoadResult result = (*load)->result();
  if (result.error && result.connections == 0) {
    return std::unexpected(*result.error);
  }
  (sends ? measured.send : measured.receive) =
      latency::loaded(**phase, std::move(result), measured.idle);
  measured.interrupted = (*phase)->interrupted;
  return {};
}

Result<cli::ExitCode> ProbeLatencyCommand::show(const LatencyMeasured& measured,
                                                const control::Client& client, cli::Json document,
                                                const cli::Context& context) const {
  document["peer"] = peer_body(peer_, client);
  add_to(document, measured);
  if (context.json) {
    cli::print(context, document);
  } else {
    print_page(context, measured);
  }
  const baseline::Finding finding{.kind = "latency",
                                  .peer = client.admittance().server.host,
                                  .direction = idle_only_ ? "" : "both",
                                  .document = std::move(document)};
  TRY(keep(baseline_, finding, context));
  return measured.interrupted ? cli::ExitCode::Interrupted : cli::ExitCode::Done;
}

}  // namespace chokepoint::probe
