// The document and the page of `probe latency`.
#include "probe/commands/latency_page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/cli/table.h"
#include "base/math/units.h"

namespace chokepoint::probe {
namespace {

using latency::Loaded;
using latency::Spread;

struct LoadDirection {
  std::string_view title;
  std::string_view doing;
  std::optional<Loaded> LatencyMeasured::* measured;
  documents::UnderLoad documents::ProbeLatency::* figures;
  documents::UdpRoundTrips documents::LatencyOverUdp::* udp;
};

constexpr std::array kLoadDirections{
    LoadDirection{"load to the peer", "sending", &LatencyMeasured::send,
                  &documents::ProbeLatency::send, &documents::LatencyOverUdp::send},
    LoadDirection{"load from the peer", "receiving", &LatencyMeasured::receive,
                  &documents::ProbeLatency::receive, &documents::LatencyOverUdp::receive},
    LoadDirection{"load in both directions", "sending and receiving", &LatencyMeasured::both,
                  &documents::ProbeLatency::both, &documents::LatencyOverUdp::both}};

documents::UdpRoundTrips udp_trips_of(const Spread& spread) {
  return {.trips_ms = spread.trips, .loss_percent = spread.loss_percent()};
}

void add_load(LatencyMeasured& measured, const LoadDirection& direction) {
  const std::optional<Loaded>& loaded = measured.*direction.measured;
  if (!loaded) {
    return;
  }
  documents::ProbeLatency& document = measured.document;
  const documents::UnderLoad& figures = document.*direction.figures = loaded->figures;
  if (figures.rpm) {
    document.rpm = std::min(document.rpm.value_or(*figures.rpm), *figures.rpm);
  }
  if (document.udp) {
    (*document.udp).*direction.udp = udp_trips_of(loaded->udp);
  }
  document.summary.push_back(sentence_of(measured.idle, *loaded, direction.doing));
  document.summary.push_back(
      latency::responsiveness_sentence(*figures.responsiveness, direction.doing));
}

std::vector<cli::Cell> row(std::string title, const Spread& spread) {
  if (!spread.trips) {
    return {std::move(title), "-", "-", "-", "-", "-", std::to_string(spread.sent)};
  }
  return {std::move(title),
          math::format_ms(spread.trips->min),
          math::format_ms(spread.trips->median),
          math::format_ms(spread.trips->p90),
          math::format_ms(spread.trips->p99),
          math::format_ms(spread.trips->max),
          fmt::format("{:.1f} %", spread.loss_percent().value_or(0))};
}

void add_rows(cli::Table& table, const std::string& title, const LatencyMeasured& measured,
              const Spread& tcp, const Spread& udp) {
  table.add(row(title + ", TCP", tcp));
  if (measured.document.udp) {
    table.add(row(title + ", UDP", udp));
  }
}

std::vector<cli::Cell> responsiveness_row(std::string title, const documents::Responsiveness& is) {
  const auto ms = [](const std::optional<double>& time) {
    return time ? math::format_ms(*time) : std::string("-");
  };
  return {std::move(title),    is.rpm ? fmt::format("{:.0f}", *is.rpm) : "-",
          ms(is.tcp_ms),       ms(is.handshake_ms),
          ms(is.request_ms),   ms(is.self_ms),
          ms(is.self_path_ms), ms(is.self_buffer_ms)};
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
  for (const LoadDirection& direction : kLoadDirections) {
    if (const std::optional<Loaded>& loaded = measured.*direction.measured) {
      table.add(responsiveness_row(std::string(direction.title), *loaded->figures.responsiveness));
      is_empty = false;
    }
  }
  if (!is_empty) {
    context.out << '\n';
    table.print(context.out, context.out_terminal);
  }
}

}  // namespace

void add_figures(LatencyMeasured& measured) {
  measured.document.idle_ms = measured.idle.tcp.trips;
  if (measured.document.udp) {
    measured.document.udp->idle = udp_trips_of(measured.idle.udp);
  }
  for (const LoadDirection& direction : kLoadDirections) {
    add_load(measured, direction);
  }
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
  for (const LoadDirection& direction : kLoadDirections) {
    if (const std::optional<Loaded>& loaded = measured.*direction.measured) {
      add_rows(table, std::string(direction.title), measured, loaded->tcp, loaded->udp);
    }
  }
  table.print(context.out, context.out_terminal);
  print_responsiveness(context, measured);
  context.out << '\n';
  for (const std::string& sentence : measured.document.summary) {
    fmt::print(context.out, "{}.\n", sentence);
  }
  if (!measured.document.udp_problem.empty()) {
    fmt::print(context.out, "without UDP: {}.\n", measured.document.udp_problem);
  }
  if (measured.document.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

}  // namespace chokepoint::probe
