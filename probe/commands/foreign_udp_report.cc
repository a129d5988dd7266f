#include <fmt/format.h>
#include <fmt/ostream.h>

#include "base/cli/table.h"
#include "base/control/bodies.h"
#include "base/math/units.h"
#include "probe/commands/foreign_udp.h"

namespace chokepoint::probe {
namespace {

using control::or_null;

double loss_percent(const ForeignUdpOutcome& outcome) {
  return outcome.packets_sent == 0 ? 0
                                   : 100.0 * static_cast<double>(outcome.lost) /
                                         static_cast<double>(outcome.packets_sent);
}

void add_direction(cli::Json& body, const ForeignUdpOutcome& outcome) {
  body["duration_s"] = outcome.duration_s;
  body["throughput_mbps"] = outcome.throughput_mbps;
  body["offered_mbps"] = outcome.offered_mbps;
  body["bytes"] = outcome.bytes;
  body["packets_sent"] = outcome.packets_sent;
  body["packets_received"] = outcome.packets_received;
  body["lost"] = outcome.lost;
  body["loss_percent"] = outcome.packets_sent == 0 ? cli::Json() : cli::Json(loss_percent(outcome));
  body["out_of_order"] = or_null(outcome.out_of_order);
  body["duplicates"] = or_null(outcome.duplicates);
  body["jitter_ms"] = or_null(outcome.jitter_ms);
  body["one_way_delay_ms"] = nullptr;
  body["intervals"] = cli::Json::array();
}

template <class T>
std::string told(const std::optional<T>& value, std::string_view unit = "") {
  return value ? fmt::format("{}{}", *value, unit) : "not told";
}

std::vector<cli::Cell> row_of(const ForeignUdpOutcome& outcome, const std::string& software) {
  const bool sends = outcome.direction == udp::Direction::Send;
  return {
      sends ? "to " + software : "from " + software,
      math::format_rate(outcome.throughput_mbps * 1e6),
      math::format_rate(outcome.offered_mbps * 1e6),
      fmt::format("{} of {} ({:.4f} %)", outcome.lost, outcome.packets_sent, loss_percent(outcome)),
      outcome.jitter_ms ? fmt::format("{:.3f} ms", *outcome.jitter_ms) : "not told",
      told(outcome.out_of_order),
      told(outcome.duplicates)};
}

}  // namespace

void add_to(cli::Json& document, const ForeignUdpPlan& plan, const ForeignUdp& measured) {
  document["direction"] = name_of(plan.parameters.direction);
  document["streams"] = plan.parameters.streams;
  document["packet_bytes"] = plan.packet_bytes;
  document["interrupted"] = measured.interrupted;
  if (plan.parameters.direction != udp::Direction::Both) {
    add_direction(document, measured.directions.front());
    return;
  }
  for (const ForeignUdpOutcome& outcome : measured.directions) {
    add_direction(document[std::string(name_of(outcome.direction))], outcome);
  }
}

void print_page(const cli::Context& context, const ForeignUdp& measured) {
  cli::Table table({{"", cli::Align::Left},
                    {"received", cli::Align::Right},
                    {"offered", cli::Align::Right},
                    {"lost", cli::Align::Right},
                    {"jitter", cli::Align::Right},
                    {"out of order", cli::Align::Right},
                    {"doubled", cli::Align::Right}});
  for (const ForeignUdpOutcome& outcome : measured.directions) {
    table.add(row_of(outcome, measured.software));
  }
  table.print(context.out, context.out_terminal);
}

}  // namespace chokepoint::probe
