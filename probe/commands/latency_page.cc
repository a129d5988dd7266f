// The document and the page of `probe latency`.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/cli/table.h"
#include "base/control/bodies.h"
#include "base/math/units.h"
#include "probe/commands/reports.h"

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
      computed<L>(
          "stable",
          [](const L& load) { return load.goodput_confidence == probe::latency::Confidence::High; },
          "more connections did not increase the throughput"),
      computed<L>(
          "throughput_mbps",
          [](const L& load) {
            return load.send_mbps || load.receive_mbps
                       ? std::optional(load.send_mbps.value_or(0) + load.receive_mbps.value_or(0))
                       : std::nullopt;
          },
          "of all of them at the end, 10^6 bit/s"),
      computed<L>(
          "rtt_p90_ms", [](const L& load) { return load.responsiveness.self_path_p90_ms; },
          "their own round trips, by the sender's kernel"),
      computed<L>(
          "error",
          [](const L& load) {
            return load.error ? std::optional(describe(*load.error)) : std::nullopt;
          },
          "of the first connection that failed")};
};

template <>
struct Fields<probe::latency::Responsiveness> {
  using R = probe::latency::Responsiveness;
  static constexpr std::tuple kList{
      field("foreign_rpm", &R::foreign_rpm, "of new connections beside the load"),
      field("self_rpm", &R::self_rpm, "of requests within the load's connections"),
      field("tcp_ms", &R::tcp_ms, "a new connection's TCP handshake; trimmed mean, as all"),
      field("handshake_ms", &R::handshake_ms, "its agreement on keys, one round trip"),
      field("request_ms", &R::request_ms, "a small object on it"),
      field("self_ms", &R::self_ms, "a small object within a load's connection"),
      field("self_path_ms", &R::self_path_ms, "its round trip, by the sender's kernel"),
      computed<R>(
          "self_buffer_ms", [](const R& is) { return probe::latency::self_buffer_ms(is); },
          "what self_ms is longer: the sender's buffer"),
      field("foreign_probes", &R::foreign_probes, "in the last four intervals"),
      field("self_probes", &R::self_probes, "likewise")};
};

}  // namespace chokepoint

namespace chokepoint::probe {
namespace {

using cli::Json;
using control::or_null;
using latency::Loaded;
using latency::Spread;

struct LoadWay {
  std::string_view name;
  std::string_view title;
  std::string_view doing;
  std::optional<Loaded> LatencyMeasured::* of;
};

constexpr std::array kWays{
    LoadWay{"send", "load to the peer", "sending", &LatencyMeasured::send},
    LoadWay{"receive", "load from the peer", "receiving", &LatencyMeasured::receive},
    LoadWay{"both", "load both ways", "sending and receiving", &LatencyMeasured::both}};

std::optional<double> worse_rpm(const LatencyMeasured& measured) {
  std::optional<double> rpm;
  for (const LoadWay& way : kWays) {
    const std::optional<Loaded>& each = measured.*way.of;
    if (const std::optional<double> one = each ? each->load.responsiveness.rpm : std::nullopt) {
      rpm = std::min(rpm.value_or(*one), *one);
    }
  }
  return rpm;
}

Json responsiveness_body(const latency::LoadResult& load) {
  Json body{{"rpm", or_null(load.responsiveness.rpm)},
            {"confidence", latency::name_of(load.confidence)},
            {"goodput_confidence", latency::name_of(load.goodput_confidence)}};
  body.update(json::to_json(load.responsiveness));
  body["failed_probes"] = load.failed_probes;
  return body;
}

void add_loaded(Json& document, const std::string& way, const std::optional<Loaded>& loaded,
                const latency::Idle& idle) {
  document["loaded_" + way + "_ms"] = loaded ? json::to_json(loaded->tcp) : Json();
  document["bufferbloat_" + way + "_ms"] = loaded ? or_null(loaded->bufferbloat_ms) : Json();
  document["rpm_" + way] = loaded ? or_null(loaded->load.responsiveness.rpm) : Json();
  document["responsiveness_" + way] = loaded ? responsiveness_body(loaded->load) : Json();
  document["bloat_" + way] = loaded ? Json(name_of(judge(idle, *loaded))) : Json();
  document["load_" + way] = loaded ? json::to_json(loaded->load) : Json();
}

Json udp_body(const LatencyMeasured& measured) {
  if (!measured.udp) {
    return {};
  }
  Json body{{"idle_ms", json::to_json(measured.idle.udp)}};
  body["idle_loss_percent"] = or_null(measured.idle.udp.loss_percent());
  for (const LoadWay& way : kWays) {
    // Without a load nothing was sent.
    const std::optional<Loaded>& loaded = measured.*way.of;
    const Spread spread = loaded ? loaded->udp : Spread();
    body[fmt::format("loaded_{}_ms", way.name)] = json::to_json(spread);
    body[fmt::format("loaded_{}_loss_percent", way.name)] = or_null(spread.loss_percent());
  }
  return body;
}

std::vector<std::string> sentences(const LatencyMeasured& measured) {
  std::vector<std::string> list;
  for (const LoadWay& way : kWays) {
    if (const std::optional<Loaded>& loaded = measured.*way.of) {
      list.push_back(sentence_of(measured.idle, *loaded, way.doing));
      list.push_back(responsiveness_sentence(loaded->load, way.doing));
    }
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

std::vector<cli::Cell> responsiveness_row(std::string title, const latency::LoadResult& load) {
  const latency::Responsiveness& is = load.responsiveness;
  const auto ms = [](const std::optional<double>& time) {
    return time ? math::format_ms(*time) : std::string("-");
  };
  return {std::move(title),    is.rpm ? fmt::format("{:.0f}", *is.rpm) : "-",
          ms(is.tcp_ms),       ms(is.handshake_ms),
          ms(is.request_ms),   ms(is.self_ms),
          ms(is.self_path_ms), ms(self_buffer_ms(is))};
}

void print_responsiveness(const cli::Context& context, const LatencyMeasured& measured) {
  using cli::Align;
  cli::Table table({{"responsiveness"},
                    {"RPM", Align::Right},
                    {"new: TCP", Align::Right},
                    {"keys", Align::Right},
                    {"request", Align::Right},
                    {"in the load", Align::Right},
                    {"path", Align::Right},
                    {"buffer", Align::Right}});
  bool is_empty = true;
  for (const LoadWay& way : kWays) {
    if (const std::optional<Loaded>& loaded = measured.*way.of) {
      table.add(responsiveness_row(std::string(way.title), loaded->load));
      is_empty = false;
    }
  }
  if (!is_empty) {
    context.out << '\n';
    table.print(context.out, context.out_terminal);
  }
}

}  // namespace

void add_to(Json& document, const LatencyMeasured& measured) {
  document["gap_ms"] = static_cast<double>(measured.gap.count()) / math::kNsPerMs;
  document["interrupted"] = measured.interrupted;
  document["idle_ms"] = json::to_json(measured.idle.tcp);
  for (const LoadWay& way : kWays) {
    add_loaded(document, std::string(way.name), measured.*way.of, measured.idle);
  }
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
  for (const LoadWay& way : kWays) {
    if (const std::optional<Loaded>& loaded = measured.*way.of) {
      add_rows(table, std::string(way.title), measured, loaded->tcp, loaded->udp);
    }
  }
  table.print(context.out, context.out_terminal);
  print_responsiveness(context, measured);
  context.out << '\n';
  for (const std::string& sentence : sentences(measured)) {
    fmt::print(context.out, "{}.\n", sentence);
  }
  if (!measured.udp_problem.empty()) {
    fmt::print(context.out, "without UDP: {}.\n", measured.udp_problem);
  }
  if (measured.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

}  // namespace chokepoint::probe
