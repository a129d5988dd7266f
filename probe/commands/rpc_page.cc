// How the answer of 'chokepoint probe rpc' looks.
#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/control/bodies.h"
#include "base/json/codec.h"
#include "base/math/units.h"
#include "probe/commands/reports.h"

namespace chokepoint {
template <>
struct Fields<probe::rpc::Interval> {
  using I = probe::rpc::Interval;
  static constexpr std::tuple kList{field("start_s", &I::start_s, "since the test began"),
                                    field("end_s", &I::end_s, "since the test began"),
                                    field("calls", &I::calls, "that were answered"),
                                    field("mean_ms", &I::mean_ms, "of their latency"),
                                    field("max_ms", &I::max_ms, "of their latency")};
};

}  // namespace chokepoint

namespace chokepoint::probe {
namespace {

using cli::Json;
using control::or_null;

// In milliseconds; null where nothing was measured.
Json rpc_spread(const rpc::Spread& spread) {
  const math::Distribution& values = spread.values;
  if (values.count == 0) {
    return {};
  }
  return {{"min", values.min},   {"median", values.median}, {"p90", spread.p90},
          {"p99", values.p99},   {"p999", spread.p999},     {"max", values.max},
          {"mean", values.mean}, {"count", values.count}};
}

Json measured_body(const math::Distribution& values) {
  return values.count == 0 ? Json() : json::to_json(values);
}

Json sent_body(const rpc::SentMeasure& sent) {
  const auto share = [&](double part_s) {
    return sent.busy_s > 0 ? Json(part_s / sent.busy_s) : Json();
  };
  return {{"retransmits", sent.retransmits},
          {"rtt_ms", measured_body(sent.rtt_ms)},
          {"min_rtt_ms", or_null(sent.min_rtt_ms)},
          {"mss_bytes", or_null(sent.mss_bytes)},
          {"window_bytes", measured_body(sent.window_bytes)},
          {"max_window_bytes", sent.max_window_bytes},
          {"limited_by",
           {{"receive_window", share(sent.receive_window_s)},
            {"send_buffer", share(sent.send_buffer_s)}}}};
}

Json rpc_cpu(const rpc::HostMeasure& host) {
  return {{"percent", host.cpu_percent},
          {"busy_percent", host.busy_percent},
          {"softirq_percent", or_null(host.softirq_percent)}};
}

Json rpc_hop(const rpc::HopOutcome& each) {
  const rpc::Hop& hop = each.hop;
  return {{"caller", each.caller},
          {"worker", hop.host},
          {"address", hop.address},
          {"calls", hop.calls},
          {"latency_ms", rpc_spread(hop.latency_ms)},
          {"held_ms", rpc_spread(hop.worker.held_ms)},
          {"network_ms", each.network_ms},
          {"own_ms", each.own_ms},
          {"network_percent", or_null(each.network_percent)},
          {"own_percent", or_null(each.own_percent)},
          {"round_trips", or_null(each.round_trips)},
          {"requests", sent_body(hop.requests)},
          {"answers", sent_body(hop.worker.answers)},
          {"worker_cpu", rpc_cpu(hop.worker.host)}};
}

Json rpc_family(const path::FamilyFacts& facts) {
  return {{"addresses", control::list_body(facts.addresses,
                                           [](const net::Address& each) { return each.text(); })},
          {"connection", name_of(facts.connection)},
          {"reason", facts.reason.empty() ? Json() : Json(facts.reason)},
          {"connect_ms", or_null(facts.connect_ms)}};
}

Json families_body(const std::optional<path::HostFacts>& name) {
  return name ? Json{{"ipv4", rpc_family(name->ipv4)}, {"ipv6", rpc_family(name->ipv6)}} : Json();
}

Json other_family_body(const std::optional<rpc::FamilyLook>& other) {
  return other ? Json{{"address", other->address},
                      {"calls_per_s", other->calls_per_s},
                      {"latency_ms", rpc_spread(other->latency_ms)}}
               : Json();
}

std::string title(const std::string& name) { return cli::printable(name); }

std::vector<cli::Cell> spread_row(std::string what, const rpc::Spread& spread) {
  const math::Distribution& values = spread.values;
  std::vector<cli::Cell> row{std::move(what)};
  for (const double each :
       {values.median, values.mean, spread.p90, values.p99, spread.p999, values.max}) {
    row.emplace_back(values.count == 0 ? "-" : math::format_ms(each));
  }
  return row;
}

// Means that add up: where the time of a round goes.
void print_shares(const cli::Context& context, const rpc::Outcome& outcome) {
  cli::Table table(
      {{"where a call's time goes"}, {"mean", cli::Align::Right}, {"share", cli::Align::Right}});
  const auto add = [&](std::string what, double ms, const std::optional<double>& percent) {
    table.add({std::move(what), math::format_ms(ms),
               percent ? fmt::format("{:.1f} %", *percent) : std::string("-")});
  };
  for (const rpc::HopOutcome& each : outcome.hops) {
    add(fmt::format("{} to {} and back", title(each.caller), title(each.hop.host)), each.network_ms,
        each.network_percent);
    add(fmt::format("held by {}", title(each.hop.host)), each.own_ms, each.own_percent);
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
}

void print_latencies(const cli::Context& context, const rpc::Outcome& outcome) {
  using cli::Align;
  cli::Table table({{"latency"},
                    {"median", Align::Right},
                    {"mean", Align::Right},
                    {"p90", Align::Right},
                    {"p99", Align::Right},
                    {"p99.9", Align::Right},
                    {"max", Align::Right}});
  for (const rpc::HopOutcome& each : outcome.hops) {
    table.add(spread_row(fmt::format("{} calls {}", title(each.caller), title(each.hop.host)),
                         each.hop.latency_ms));
    table.add(spread_row(fmt::format("held by {}", title(each.hop.host)), each.hop.worker.held_ms));
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
}

std::string rpc_cpu_text(const std::string& host, const rpc::HostMeasure& measure) {
  return fmt::format("{} {:.0f} % of a core, busy {:.0f} %", title(host), measure.cpu_percent,
                     measure.busy_percent);
}

void print_totals(const cli::Context& context, const RpcMeasured& measured) {
  const rpc::Outcome& outcome = measured.outcome;
  const rpc::Parameters& asked = measured.trial.parameters;
  fmt::print(context.out, "{} calls in {:.2f} s, {} calls/s: requests {}, answers {}.\n",
             outcome.calls, measured.trial.duration_s, math::three_digits(outcome.calls_per_s),
             math::format_rate(outcome.request_mbps * math::kMega),
             math::format_rate(outcome.response_mbps * math::kMega));
  fmt::print(context.out, "{} there and {} back; {} caller{} with {} outstanding{}.\n\n",
             math::format_bytes(static_cast<double>(asked.request_bytes)),
             math::format_bytes(static_cast<double>(asked.response_bytes)), asked.callers,
             asked.callers == 1 ? "" : "s", asked.outstanding,
             asked.pause.count() > 0 ? fmt::format(", {} of pause after each answer",
                                                   math::format_duration(asked.pause))
                                     : "");
}

void print_hosts(const cli::Context& context, const RpcMeasured& measured) {
  std::vector<std::string> hosts{
      rpc_cpu_text(measured.outcome.hops.front().caller, measured.trial.client)};
  std::uint64_t retransmits = 0;
  for (const rpc::HopOutcome& each : measured.outcome.hops) {
    hosts.push_back(rpc_cpu_text(each.hop.host, each.hop.worker.host));
    retransmits += each.hop.requests.retransmits + each.hop.worker.answers.retransmits;
  }
  const rpc::HopOutcome& first = measured.outcome.hops.front();
  const auto& trip = first.hop.requests.min_rtt_ms;
  fmt::print(context.out, "CPU: {}.\n", fmt::join(hosts, "; "));
  fmt::print(context.out, "Round trip to {}: {}; {} segments retransmitted.\n",
             title(first.hop.host), trip ? math::format_ms(*trip) : "not known", retransmits);
}

void print_families(const cli::Context& context, const RpcMeasured& measured) {
  const rpc::HopOutcome& first = measured.outcome.hops.front();
  const std::string family = measured.family == net::Family::Ipv4 ? "IPv4" : "IPv6";
  if (!measured.name) {
    fmt::print(context.out, "Over {}, to {}.\n", family, first.hop.address);
    return;
  }
  std::vector<std::string> all;
  for (const net::Address& each : measured.name->in_order) {
    all.push_back(each.text());
  }
  fmt::print(context.out, "Over {}, to {}; {} resolves to {}.\n", family, first.hop.address,
             title(measured.name->name), fmt::join(all, ", "));
  if (measured.other_family) {
    fmt::print(context.out, "Over {} a call takes {} (median), {} calls/s.\n",
               measured.other_family->family,
               math::format_ms(measured.other_family->latency_ms.values.median),
               math::three_digits(measured.other_family->calls_per_s));
  }
}

}  // namespace

void add_to(cli::Json& document, const RpcMeasured& measured) {
  const rpc::Trial& trial = measured.trial;
  const rpc::Parameters& asked = trial.parameters;
  const rpc::Outcome& outcome = measured.outcome;
  const rpc::HopOutcome& first = outcome.hops.front();
  document["request_bytes"] = asked.request_bytes;
  document["response_bytes"] = asked.response_bytes;
  document["callers"] = asked.callers;
  document["outstanding"] = asked.outstanding;
  document["pause_ms"] = static_cast<double>(asked.pause.count()) / math::kNsPerMs;
  document["no_delay"] = asked.no_delay;
  document["interrupted"] = trial.interrupted;
  document["duration_s"] = trial.duration_s;
  document["calls"] = outcome.calls;
  document["unanswered"] = trial.unanswered;
  document["calls_per_s"] = outcome.calls_per_s;
  document["request_mbps"] = outcome.request_mbps;
  document["response_mbps"] = outcome.response_mbps;
  document["latency_ms"] = rpc_spread(first.hop.latency_ms);
  document["held_ms"] = rpc_spread(first.hop.worker.held_ms);
  document["network_ms"] = first.network_ms;
  document["round_trips"] = or_null(first.round_trips);
  document["client_cpu"] = rpc_cpu(trial.client);
  document["hops"] = control::list_body(outcome.hops, rpc_hop);
  document["limit"] = name_of(outcome.verdict.limit);
  document["summary"] = outcome.verdict.sentence;
  document["families"] = families_body(measured.name);
  document["other_family"] = other_family_body(measured.other_family);
  document["dual_stack_finding"] = or_null(measured.dual_stack_finding);
  document["intervals"] = json::to_json(trial.intervals);
}

void print_page(const cli::Context& context, const RpcMeasured& measured) {
  print_totals(context, measured);
  print_latencies(context, measured.outcome);
  print_shares(context, measured.outcome);
  print_hosts(context, measured);
  print_families(context, measured);
  fmt::print(context.out, "The calls were limited by {}.\n",
             cli::printable(measured.outcome.verdict.sentence));
  if (measured.dual_stack_finding) {
    fmt::print(context.out, "Dual stack: {}.\n", cli::printable(*measured.dual_stack_finding));
  }
  if (measured.trial.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

}  // namespace chokepoint::probe
