#include "probe/commands/tcp_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "base/cli/table.h"
#include "base/control/bodies.h"
#include "base/math/units.h"
#include "probe/commands/direction_text.h"

namespace chokepoint::probe {
namespace {

using cli::Json;
using control::distribution_body;
using control::or_null;

// The kernel's own least, which no sample need have met.
Json rtt_body(const tcp::Outcome& outcome) {
  Json body = distribution_body(outcome.rtt_ms);
  if (!body.is_null() && outcome.min_rtt_ms) {
    body["min"] = std::min(*outcome.min_rtt_ms, outcome.rtt_ms.min);
  }
  return body;
}

Json shares_body(const std::optional<tcp::Shares>& shares) {
  if (!shares) {
    return {};
  }
  return {{"application", shares->application},
          {"receive_window", shares->receive_window},
          {"send_buffer", shares->send_buffer},
          {"network", shares->network}};
}

Json tcp_interval_body(const tcp::Interval& interval) {
  return {{"start_s", interval.start_s},
          {"end_s", interval.end_s},
          {"bytes", interval.bytes},
          {"throughput_mbps", interval.throughput_mbps},
          {"retransmits", or_null(interval.retransmits)},
          {"cwnd_bytes", or_null(interval.cwnd_bytes)},
          {"rtt_ms", or_null(interval.rtt_ms)}};
}

Json tcp_stream_body(const tcp::StreamOutcome& stream) {
  return {{"stream", stream.sender.index},
          {"bytes", stream.receiver.bytes},
          {"sent_bytes", stream.sender.total_bytes},
          {"received_bytes", stream.receiver.total_bytes},
          {"throughput_mbps", stream.throughput_mbps},
          {"retransmits", or_null(stream.sender.retransmits)},
          {"max_cwnd_bytes", or_null(stream.sender.max_cwnd_bytes)},
          {"rtt_ms", distribution_body(stream.sender.rtt_ms)},
          {"sender_cpu_percent", stream.sender.cpu_percent},
          {"receiver_cpu_percent", stream.receiver.cpu_percent},
          {"error", stream.sender.error.empty()
                        ? or_null(stream.receiver.error.empty() ? std::optional<std::string>()
                                                                : stream.receiver.error)
                        : Json(stream.sender.error)}};
}

Json cpu_body(const tcp::Outcome& outcome) {
  return {{"sender_percent", outcome.sender_host.cpu_percent},
          {"receiver_percent", outcome.receiver_host.cpu_percent},
          {"sender_softirq_percent", or_null(outcome.sender_host.softirq_percent)},
          {"receiver_softirq_percent", or_null(outcome.receiver_host.softirq_percent)},
          {"sender_busiest_core_percent", or_null(outcome.sender_host.busiest_core_percent)},
          {"receiver_busiest_core_percent", or_null(outcome.receiver_host.busiest_core_percent)}};
}

void add_direction(Json& body, const Judged& judged) {
  const tcp::Outcome& outcome = judged.outcome;
  body["duration_s"] = outcome.duration_s;
  body["congestion_control"] = outcome.congestion_control;
  body["mss_bytes"] = or_null(outcome.mss_bytes);
  body["throughput_mbps"] = outcome.throughput_mbps;
  body["peak_mbps"] = outcome.peak_mbps;
  body["bytes"] = outcome.bytes;
  body["sent_bytes"] = outcome.sent_bytes;
  body["received_bytes"] = outcome.received_bytes;
  body["retransmits"] = or_null(outcome.retransmits);
  body["max_cwnd_bytes"] = or_null(outcome.max_cwnd_bytes);
  body["rtt_ms"] = rtt_body(outcome);
  body["receiver_rtt_ms"] = distribution_body(outcome.receiver_rtt_ms);
  body["cpu"] = cpu_body(outcome);
  body["limited_by"] = shares_body(outcome.limited_by);
  body["limit"] = name_of(judged.verdict.limit);
  body["summary"] = judged.verdict.sentence;
  body["intervals"] = Json::array();
  for (const tcp::Interval& interval : outcome.intervals) {
    body["intervals"].push_back(tcp_interval_body(interval));
  }
  body["per_stream"] = Json::array();
  for (const tcp::StreamOutcome& stream : outcome.streams) {
    body["per_stream"].push_back(tcp_stream_body(stream));
  }
}

std::string megabits(double mbps) {
  constexpr double kGigabit = 1000;
  const std::string text = fmt::format("{:.2f} Mb/s", mbps);
  return mbps < kGigabit ? text : fmt::format("{} ({})", text, math::format_rate(mbps * 1e6));
}

std::string bytes_text(const std::optional<std::uint64_t>& bytes) {
  return bytes ? math::format_bytes(static_cast<double>(*bytes)) : "not known";
}

std::string rtt_text(const tcp::Outcome& outcome) {
  if (outcome.rtt_ms.count == 0) {
    return "not measured";
  }
  return fmt::format("{:.2f} ms (min {:.2f}, p99 {:.2f})", outcome.rtt_ms.median,
                     outcome.min_rtt_ms.value_or(outcome.rtt_ms.min), outcome.rtt_ms.p99);
}

std::string cpu_text(const tcp::HostMeasure& host) {
  const std::string own = fmt::format("{:.0f} %", host.cpu_percent);
  return host.softirq_percent ? fmt::format("{}, softirq {:.0f} % of core {}", own,
                                            *host.softirq_percent, host.softirq_core.value_or(0))
                              : own;
}

std::string shares_text(const tcp::Outcome& outcome) {
  if (!outcome.limited_by) {
    return "not known";
  }
  const tcp::Shares& shares = *outcome.limited_by;
  return fmt::format(
      "application {:.0f} %, receive window {:.0f} %, send buffer {:.0f} %, "
      "network {:.0f} %",
      shares.application * 100, shares.receive_window * 100, shares.send_buffer * 100,
      shares.network * 100);
}

struct TcpRow {
  std::string_view title;
  std::string (*value)(const tcp::Outcome& outcome);
};

// The rows in which operators have always reported such tests.
constexpr std::array kTcpRows{
    TcpRow{"average throughput",
           [](const tcp::Outcome& each) { return megabits(each.throughput_mbps); }},
    TcpRow{"peak throughput", [](const tcp::Outcome& each) { return megabits(each.peak_mbps); }},
    TcpRow{"data transferred",
           [](const tcp::Outcome& each) {
             return fmt::format("{} in {:.2f} s",
                                math::format_bytes(static_cast<double>(each.bytes)),
                                each.duration_s);
           }},
    TcpRow{"retransmissions",
           [](const tcp::Outcome& each) {
             return each.retransmits ? std::to_string(*each.retransmits) : std::string("not known");
           }},
    TcpRow{"max congestion window",
           [](const tcp::Outcome& each) { return bytes_text(each.max_cwnd_bytes); }},
    TcpRow{"round-trip time", rtt_text},
    TcpRow{"TX utilization", [](const tcp::Outcome& each) { return cpu_text(each.sender_host); }},
    TcpRow{"RX utilization", [](const tcp::Outcome& each) { return cpu_text(each.receiver_host); }},
    TcpRow{"limited by", shares_text},
};

}  // namespace

void add_to(Json& document, const tcp::Trial& test, const std::vector<Judged>& directions) {
  document["direction"] = name_of(test.parameters.direction);
  document["streams"] = test.parameters.streams;
  document["interrupted"] = test.interrupted;
  document["zero_copy"] = test.parameters.zero_copy;
  if (directions.size() == 1) {
    add_direction(document, directions.front());
    return;
  }
  for (const Judged& judged : directions) {
    add_direction(document[name_of(judged.outcome.direction)], judged);
  }
}

void print_page(const cli::Context& context, const tcp::Trial& test,
                const std::vector<Judged>& directions) {
  std::vector<cli::Column> columns{{""}};
  for (const Judged& judged : directions) {
    columns.push_back({direction_text(judged.outcome.direction)});
  }
  cli::Table table(columns);
  for (const TcpRow& row : kTcpRows) {
    std::vector<cli::Cell> cells{{std::string(row.title)}};
    for (const Judged& judged : directions) {
      cells.emplace_back(row.value(judged.outcome));
    }
    table.add(std::move(cells));
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
  for (const Judged& judged : directions) {
    fmt::print(context.out, "{} it was limited by {}.\n", direction_text(judged.outcome.direction),
               judged.verdict.sentence);
  }
  if (test.interrupted) {
    context.out << "Interrupted: this is what was measured until then.\n";
  }
}

void TcpLive::show(tcp::Side side, const tcp::IntervalMeasure& interval) {
  if (!context_.err_terminal.interactive || context_.quiet) {
    return;
  }
  const bool sent = interval.role == tcp::Role::Send;
  // What the client receives the server sent, and the other way round.
  const bool from_here = (side == tcp::Side::Client) == sent;
  Way& way = from_here ? to_peer_ : from_peer_;
  if (!sent && way.received) {
    print(from_here);
  }
  (sent ? way.sent : way.received) = interval;
  if (way.sent && way.received) {
    print(from_here);
  }
}

void TcpLive::print(bool from_here) {
  Way& way = from_here ? to_peer_ : from_peer_;
  const tcp::IntervalMeasure& received = *way.received;
  const double seconds = received.end_s - received.start_s;
  const double bits = seconds > 0 ? static_cast<double>(received.bytes) * 8 / seconds : 0;
  std::string line = fmt::format("{} {:7.1f} s  {:>12}", from_here ? "->" : "<-", received.end_s,
                                 math::format_rate(bits));
  if (way.sent) {
    line += fmt::format("  retransmissions {:<6} cwnd {:>9}", way.sent->retransmits.value_or(0),
                        bytes_text(way.sent->cwnd_bytes));
    line += way.sent->rtt_ms ? fmt::format("  rtt {:.2f} ms", *way.sent->rtt_ms) : "";
  }
  context_.err << line << '\n' << std::flush;
  way = {};
}

}  // namespace chokepoint::probe
