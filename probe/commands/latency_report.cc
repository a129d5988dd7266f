#include "probe/commands/latency_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>

#include "base/cli/table.h"
#include "base/control/bodies.h"
#include "base/math/units.h"
#include "probe/commands/units.h"

namespace chokepoint::probe {
namespace {

using cli::Json;
using control::or_null;
using latency::Loaded;
using latency::Spread;

Json spread_body(const Spread& spread) {
  const math::Distribution& values = spread.values;
  if (values.count == 0) {
    return {};
  }
  return {{"min", values.min},    {"median", values.median}, {"p90", spread.p90},
          {"p99", values.p99},    {"max", values.max},       {"mean", values.mean},
          {"count", values.count}};
}

Json lost_body(const Spread& spread) {
  return spread.sent == 0 ? Json()
                          : Json(static_cast<double>(spread.lost()) * kPercent /
                                 static_cast<double>(spread.sent));
}

Json load_body(const Loaded& loaded) {
  return {{"connections", loaded.load.connections},
          {"stable", loaded.load.stable},
          {"throughput_mbps", or_null(loaded.load.throughput_mbps)},
          {"rtt_p90_ms", or_null(math::quantile(loaded.load.rtt_ms, 0.9))},
          {"error", loaded.load.error ? Json(describe(*loaded.load.error)) : Json()}};
}

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
  document["loaded_" + way + "_ms"] = loaded ? spread_body(loaded->tcp) : Json();
  document["bufferbloat_" + way + "_ms"] = loaded ? or_null(loaded->bufferbloat_ms) : Json();
  document["rpm_" + way] = loaded ? or_null(loaded->rpm) : Json();
  document["bloat_" + way] = loaded ? Json(name_of(judge(idle, *loaded))) : Json();
  document["load_" + way] = loaded ? load_body(*loaded) : Json();
}

Json udp_body(const LatencyMeasured& measured) {
  if (!measured.udp) {
    return {};
  }
  const auto loaded = [](const std::optional<Loaded>& each, auto body) {
    return each ? body(each->udp) : Json();
  };
  return {{"idle_ms", spread_body(measured.idle.udp)},
          {"loaded_send_ms", loaded(measured.send, spread_body)},
          {"loaded_receive_ms", loaded(measured.receive, spread_body)},
          {"idle_loss_percent", lost_body(measured.idle.udp)},
          {"loaded_send_loss_percent", loaded(measured.send, lost_body)},
          {"loaded_receive_loss_percent", loaded(measured.receive, lost_body)}};
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

std::string ms(double value) {
  return math::format_duration(std::chrono::nanoseconds(std::llround(value * kNsPerMs)));
}

std::vector<cli::Cell> row(std::string title, const Spread& spread) {
  const math::Distribution& values = spread.values;
  if (values.count == 0) {
    return {std::move(title), "-", "-", "-", "-", "-", std::to_string(spread.sent)};
  }
  const auto lost =
      static_cast<double>(spread.lost()) * kPercent / static_cast<double>(spread.sent);
  return {std::move(title),
          ms(values.min),
          ms(values.median),
          ms(spread.p90),
          ms(values.p99),
          ms(values.max),
          fmt::format("{:.1f} %", lost)};
}

void add_rows(cli::Table& table, const std::string& title, const LatencyMeasured& measured,
              const Spread& tcp, const Spread& udp) {
  table.add(row(title + ", TCP", tcp));
  if (measured.udp) {
    table.add(row(title + ", UDP", udp));
  }
}

}  // namespace

void add_to(Json& document, const LatencyMeasured& measured) {
  document["gap_ms"] = static_cast<double>(measured.gap.count()) / kNsPerMs;
  document["interrupted"] = measured.interrupted;
  document["idle_ms"] = spread_body(measured.idle.tcp);
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
    context.out << "Interrupted: this is what was measured until then.\n";
  }
}

}  // namespace chokepoint::probe
