// chokepoint probe latency: how long small messages take, idle and while the path is filled. The
// document chokepoint.probe.latency/1, and the table for people. One thread.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/baseline/baseline.h"
#include "base/cli/command.h"
#include "base/cli/output.h"
#include "base/control/bodies.h"
#include "base/control/client.h"
#include "base/math/units.h"
#include "base/sys/root.h"
#include "base/sys/signals.h"
#include "base/trials/trials.h"
#include "probe/commands/commands.h"
#include "probe/latency/load.h"
#include "probe/latency/outcome.h"

namespace chokepoint {

template <>
struct Fields<probe::latency::Spread> {
  using S = probe::latency::Spread;
  using D = math::Distribution;
  static bool is_unknown(const S& spread) { return spread.values.count == 0; }
  static constexpr std::tuple kList{
      within(&S::values, field("min", &D::min, "milliseconds, as all of these")),
      within(&S::values, field("median", &D::median, "")),
      field("p90", &S::p90, ""),
      within(&S::values, field("p99", &D::p99, "")),
      within(&S::values, field("max", &D::max, "")),
      within(&S::values, field("mean", &D::mean, "")),
      within(&S::values, field("count", &D::count, "messages that came back"))};
};

template <>
struct Fields<probe::latency::LoadResult> {
  using L = probe::latency::LoadResult;
  static constexpr std::tuple kList{
      field("connections", &L::connections, "that filled the path"),
      field("stable", &L::stable, "more connections did not increase the throughput"),
      field("throughput_mbps", &L::throughput_mbps, "of all of them at the end, 10^6 bit/s"),
      computed<L>(
          "rtt_p90_ms", [](const L& load) { return math::quantile(load.rtt_ms, 0.9); },
          "their own round trips, by the sender's kernel"),
      computed<L>(
          "error",
          [](const L& load) {
            return load.error ? std::optional(describe(*load.error)) : std::nullopt;
          },
          "of the first connection that failed")};
};

}  // namespace chokepoint

namespace chokepoint::probe {
namespace {

using cli::Json;
using control::or_null;
using latency::Loaded;
using latency::Spread;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// The load is stopped by hand when the phase is over, so its own time must be longer.
constexpr seconds kLoadMargin{10};

struct LatencyMeasured {
  std::chrono::nanoseconds gap = {};
  bool udp = false;
  std::string udp_problem = {};
  latency::Idle idle = {};
  std::optional<latency::Loaded> send = {};
  std::optional<latency::Loaded> receive = {};
  bool interrupted = false;
};

std::optional<double> worse_rpm(const LatencyMeasured& measured) {
  std::optional<double> rpm;
  for (const auto& each : {measured.send, measured.receive}) {
    if (each && each->rpm) {
      rpm = std::min(rpm.value_or(*each->rpm), *each->rpm);
    }
  }
  return rpm;
}

void add_loaded(Json& document, const std::string& way, const std::optional<Loaded>& loaded,
                const latency::Idle& idle) {
  document["loaded_" + way + "_ms"] = loaded ? json::to_json(loaded->tcp) : Json();
  document["bufferbloat_" + way + "_ms"] = loaded ? or_null(loaded->bufferbloat_ms) : Json();
  document["rpm_" + way] = loaded ? or_null(loaded->rpm) : Json();
  document["bloat_" + way] = loaded ? Json(name_of(judge(idle, *loaded))) : Json();
  document["load_" + way] = loaded ? json::to_json(loaded->load) : Json();
}

Json udp_body(const LatencyMeasured& measured) {
  if (!measured.udp) {
    return {};
  }
  // Without a load nothing was sent.
  const Spread send = measured.send ? measured.send->udp : Spread();
  const Spread receive = measured.receive ? measured.receive->udp : Spread();
  return {{"idle_ms", json::to_json(measured.idle.udp)},
          {"loaded_send_ms", json::to_json(send)},
          {"loaded_receive_ms", json::to_json(receive)},
          {"idle_loss_percent", or_null(measured.idle.udp.loss_percent())},
          {"loaded_send_loss_percent", or_null(send.loss_percent())},
          {"loaded_receive_loss_percent", or_null(receive.loss_percent())}};
}

std::vector<std::string> sentences(const LatencyMeasured& measured) {
  std::vector<std::string> list;
  if (measured.send) {
    list.push_back(sentence_of(measured.idle, *measured.send, "sending"));
  }
  if (measured.receive) {
    list.push_back(sentence_of(measured.idle, *measured.receive, "receiving"));
  }
  return list;
}

std::vector<cli::Cell> row(std::string title, const Spread& spread) {
  const math::Distribution& values = spread.values;
  if (values.count == 0) {
    return {std::move(title), "-", "-", "-", "-", "-", std::to_string(spread.sent)};
  }
  return {std::move(title),
          math::format_ms(values.min),
          math::format_ms(values.median),
          math::format_ms(spread.p90),
          math::format_ms(values.p99),
          math::format_ms(values.max),
          fmt::format("{:.1f} %", spread.loss_percent().value_or(0))};
}

void add_rows(cli::Table& table, const std::string& title, const LatencyMeasured& measured,
              const Spread& tcp, const Spread& udp) {
  table.add(row(title + ", TCP", tcp));
  if (measured.udp) {
    table.add(row(title + ", UDP", udp));
  }
}

// Into `document`, which has its head already.
void add_to(Json& document, const LatencyMeasured& measured) {
  document["gap_ms"] = static_cast<double>(measured.gap.count()) / math::kNsPerMs;
  document["interrupted"] = measured.interrupted;
  document["idle_ms"] = json::to_json(measured.idle.tcp);
  add_loaded(document, "send", measured.send, measured.idle);
  add_loaded(document, "receive", measured.receive, measured.idle);
  document["rpm"] = or_null(worse_rpm(measured));
  document["udp"] = udp_body(measured);
  document["udp_problem"] = measured.udp_problem.empty() ? Json() : Json(measured.udp_problem);
  document["summary"] = sentences(measured);
}

void print_page(const cli::Context& context, const LatencyMeasured& measured) {
  using cli::Align;
  cli::Table table({{"round trips"},
                    {"min", Align::Right},
                    {"median", Align::Right},
                    {"p90", Align::Right},
                    {"p99", Align::Right},
                    {"max", Align::Right},
                    {"lost", Align::Right}});
  add_rows(table, "idle", measured, measured.idle.tcp, measured.idle.udp);
  if (measured.send) {
    add_rows(table, "load to the peer", measured, measured.send->tcp, measured.send->udp);
  }
  if (measured.receive) {
    add_rows(table, "load from the peer", measured, measured.receive->tcp, measured.receive->udp);
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
  for (const std::string& sentence : sentences(measured)) {
    fmt::print(context.out, "{}.\n", sentence);
  }
  if (const std::optional<double> rpm = worse_rpm(measured)) {
    fmt::print(context.out, "responsiveness: {:.0f} round trips a minute (RPM).\n", *rpm);
  }
  if (!measured.udp_problem.empty()) {
    fmt::print(context.out, "without UDP: {}.\n", measured.udp_problem);
  }
  if (measured.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

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
            "The load grows by one connection per second until more connections do not increase "
            "the throughput, as in responsiveness tests; RPM, round trips a minute, is 60 s over "
            "the mean of "
            "two 90th percentiles: that of the load's own connections and that of a connection "
            "beside them.",
        .examples = {{"chokepoint probe latency voyager", "idle, and under load each way"},
                     {"chokepoint probe latency voyager --idle-only --idle 10",
                      "only the idle path, for ten seconds"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to measure")
        .option("idle", &idle_, "TIME", "duration of the test on the idle path")
        .option("time,t", &time_, "TIME", "duration of the test under load, each way")
        .toggle("idle-only", &idle_only_, "no load")
        .toggle("no-udp", &no_udp_, "TCP alone")
        .option("gap", &gap_, "TIME", "interval between messages")
        .group("The load")
        .option("connections", &connections_, "N", "maximum number of connections, each way", 1, 64)
        .option("congestion", &congestion_, "NAME", "its congestion control: cubic, bbr, reno …");
    control::define(flags, peer_);
    baseline::define(flags, baseline_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(baseline::check(baseline_));
    TRY(check());
    TRY(sys::Signals signals, sys::Signals::watch_for_end());
    cli::Json document = cli::document(context, "chokepoint.probe.latency/1");
    TRY(control::Client client, connect(peer_, context, signals.descriptor()));
    TRY(latency::Test test, latency::Test::open(client, {.time = whole_time(), .udp = !no_udp_}, {},
                                                signals.descriptor(), [&](const std::string& why) {
                                                  fmt::print(context.err, "waiting: {}\n", why);
                                                }));
    TRY(const LatencyMeasured measured, measure(test, signals.descriptor(), context));
    if (const Result<> closed = test.close(); closed) {
      client.bye();
    }
    return show(measured, client, std::move(document), context);
  }

 private:
  Result<> check() const {
    if (idle_ < milliseconds(10) || time_ < milliseconds(10)) {
      return fail(ErrorKind::Usage, "", idle_ < milliseconds(10) ? "--idle" : "--time",
                  "must be 10 ms or more");
    }
    if (gap_ < std::chrono::microseconds(100)) {
      return fail(ErrorKind::Usage, "", "--gap", "must be 0.1 ms or more");
    }
    return {};
  }

  nanoseconds whole_time() const {
    return idle_ + (idle_only_ ? nanoseconds(0) : 2 * (time_ + kLoadMargin)) + kLoadMargin;
  }

  Result<LatencyMeasured> measure(const latency::Test& test, int interrupt,
                                  const cli::Context& context) const {
    LatencyMeasured measured{.gap = gap_, .udp = test.udp() >= 0};
    if (test.udp_problem()) {
      measured.udp_problem = describe(*test.udp_problem());
    }
    latency::Prober prober({.tcp = test.tcp(), .udp = test.udp(), .test = test.id()}, gap_);
    TRY(measure_idle(prober, measured, interrupt, context));
    for (const tcp::Direction direction : {tcp::Direction::Send, tcp::Direction::Receive}) {
      if (!idle_only_ && !measured.interrupted) {
        TRY(measure_loaded(prober, measured, direction, interrupt, context));
      }
    }
    return measured;
  }

  Result<> measure_idle(latency::Prober& prober, LatencyMeasured& measured, int interrupt,
                        const cli::Context& context) const {
    cli::show_progress(context, "idle");
    TRY(const auto phase, prober.run(1, idle_, interrupt, [] { return true; }));
    measured.idle = {.tcp = spread_of(phase->tcp), .udp = spread_of(phase->udp)};
    measured.interrupted = phase->interrupted;
    return {};
  }

  Result<> measure_loaded(latency::Prober& prober, LatencyMeasured& measured,
                          tcp::Direction direction, int interrupt,
                          const cli::Context& context) const {
    const bool sends = direction == tcp::Direction::Send;
    cli::show_progress(context, sends ? "under load to the peer" : "under load from the peer");
    TRY(const std::unique_ptr<latency::Load> load,
        latency::Load::start([&](int stopped) { return connect(peer_, context, stopped); },
                             {.direction = direction,
                              .time = time_ + kLoadMargin,
                              .max_connections = static_cast<int>(connections_),
                              .congestion = congestion_},
                             context.root));
    // If the load never settles, the second half is measured all the same.
    const auto latest = net::Patience::Clock::now() + time_ / 2;
    const auto phase = prober.run(sends ? 2 : 3, time_, interrupt, [&] {
      if (net::Patience::Clock::now() >= latest) {
        load->declare_full();
      }
      return load->full();
    });
    load->stop();
    if (!phase) {
      return std::unexpected(phase.error());
    }
    latency::LoadResult result = load->result();
    if (result.error && result.connections == 0) {
      return std::unexpected(*result.error);
    }
    (sends ? measured.send : measured.receive) =
        latency::loaded(**phase, std::move(result), measured.idle);
    measured.interrupted = (*phase)->interrupted;
    return {};
  }

  Result<cli::ExitCode> show(const LatencyMeasured& measured, const control::Client& client,
                             cli::Json document, const cli::Context& context) const {
    document["peer"] = peer_body(peer_, client);
    add_to(document, measured);
    return baseline::answer(context, baseline_,
                            {.kind = "latency",
                             .peer = client.admittance().server.host,
                             .direction = idle_only_ ? "" : "both",
                             .document = std::move(document)},
                            measured.interrupted, [&] { print_page(context, measured); });
  }

  control::PeerFlags peer_;
  baseline::Flags baseline_;
  std::chrono::nanoseconds idle_ = std::chrono::seconds(3);
  std::chrono::nanoseconds time_ = std::chrono::seconds(12);
  std::chrono::nanoseconds gap_ = std::chrono::milliseconds(10);
  std::int64_t connections_ = 16;
  std::string congestion_;
  bool idle_only_ = false;
  bool no_udp_ = false;
};

}  // namespace

cli::CommandFactory latency_command() {
  return trials::repeatable(cli::command<ProbeLatencyCommand>(),
                            {{"/idle_ms/median", "idle", "ms"},
                             {"/idle_ms/p99", "idle, p99", "ms"},
                             {"/loaded_send_ms/median", "loaded, to the peer", "ms"},
                             {"/loaded_receive_ms/median", "loaded, from the peer", "ms"},
                             {"/rpm", "responsiveness", "RPM"}});
}

}  // namespace chokepoint::probe
