// How the answer of 'chokepoint probe rpc' looks.
#include "probe/commands/rpc_page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/units.h"

namespace chokepoint::probe {
namespace {

std::string title(const std::string& name) { return cli::printable(name); }

std::vector<cli::Cell> times_row(std::string what,
                                 const std::optional<documents::RpcTimes>& measured) {
  using T = documents::RpcTimes;
  std::vector<cli::Cell> row{std::move(what)};
  for (const auto each : {&T::median, &T::mean, &T::p90, &T::p99, &T::p999, &T::max}) {
    row.emplace_back(measured ? math::format_ms((*measured).*each) : "-");
  }
  return row;
}

// Means that add up: where the time of a round goes.
void print_shares(const cli::Context& context, const documents::ProbeRpc& outcome) {
  cli::Table table(
      {{"where a call's time goes"}, {"mean", cli::Align::Right}, {"share", cli::Align::Right}});
  const auto add = [&](std::string what, double ms, const std::optional<double>& percent) {
    table.add({std::move(what), math::format_ms(ms),
               percent ? fmt::format("{:.1f} %", *percent) : std::string("-")});
  };
  for (const documents::RpcHop& each : outcome.hops) {
    add(fmt::format("{} to {} and back", title(each.caller), title(each.worker)), each.network_ms,
        each.network_percent);
    add(fmt::format("held by {}", title(each.worker)), each.own_ms, each.own_percent);
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
}

void print_latencies(const cli::Context& context, const documents::ProbeRpc& outcome) {
  using cli::Align;
  cli::Table table({{"latency"},
                    {"median", Align::Right},
                    {"mean", Align::Right},
                    {"p90", Align::Right},
                    {"p99", Align::Right},
                    {"p99.9", Align::Right},
                    {"max", Align::Right}});
  for (const documents::RpcHop& each : outcome.hops) {
    table.add(times_row(fmt::format("{} calls {}", title(each.caller), title(each.worker)),
                        each.latency_ms));
    table.add(times_row(fmt::format("held by {}", title(each.worker)), each.held_ms));
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
}

std::string rpc_cpu_text(const std::string& host, const documents::RpcCpu& cpu) {
  return fmt::format("{} {:.0f} % of a core, busy {:.0f} %", title(host), cpu.percent,
                     cpu.busy_percent);
}

void print_totals(const cli::Context& context, const RpcMeasured& measured) {
  const documents::ProbeRpc& outcome = measured.document;
  const rpc::Parameters& asked = measured.parameters;
  fmt::print(context.out, "{} calls in {:.2f} s, {} calls/s: requests {}, answers {}.\n",
             outcome.calls, outcome.duration_s, math::three_digits(outcome.calls_per_s),
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

void print_hosts(const cli::Context& context, const documents::ProbeRpc& outcome) {
  const documents::RpcHop& first = outcome.hops.front();
  std::vector<std::string> hosts{rpc_cpu_text(first.caller, outcome.client_cpu)};
  std::uint64_t retransmits = 0;
  for (const documents::RpcHop& each : outcome.hops) {
    hosts.push_back(rpc_cpu_text(each.worker, each.worker_cpu));
    retransmits += each.requests.retransmits + each.answers.retransmits;
  }
  const auto& trip = first.requests.min_rtt_ms;
  fmt::print(context.out, "CPU: {}.\n", fmt::join(hosts, "; "));
  fmt::print(context.out, "Round trip to {}: {}; {} segments retransmitted.\n", title(first.worker),
             trip ? math::format_ms(*trip) : "not known", retransmits);
}

void print_families(const cli::Context& context, const RpcMeasured& measured) {
  const documents::RpcHop& first = measured.document.hops.front();
  const net::Family used = measured.document.peer.family;
  if (!measured.name) {
    fmt::print(context.out, "Over {}, to {}.\n", rpc::family_title(used), first.address);
    return;
  }
  std::vector<std::string> all;
  for (const net::Address& each : measured.name->in_order) {
    all.push_back(each.text());
  }
  fmt::print(context.out, "Over {}, to {}; {} resolves to {}.\n", rpc::family_title(used),
             first.address, title(measured.name->name), fmt::join(all, ", "));
  if (const auto& other = measured.document.other_family) {
    fmt::print(context.out, "Over {} a call takes {} (median), {} calls/s.\n",
               rpc::family_title(net::other(used)),
               math::format_ms(other->latency_ms ? other->latency_ms->median : 0),
               math::three_digits(other->calls_per_s));
  }
}

}  // namespace

void print_page(const cli::Context& context, const RpcMeasured& measured) {
  const documents::ProbeRpc& outcome = measured.document;
  print_totals(context, measured);
  print_latencies(context, outcome);
  print_shares(context, outcome);
  print_hosts(context, outcome);
  print_families(context, measured);
  fmt::print(context.out, "The calls were limited by {}.\n", cli::printable(outcome.summary));
  if (outcome.dual_stack_finding) {
    fmt::print(context.out, "Dual stack: {}.\n", cli::printable(*outcome.dual_stack_finding));
  }
  if (outcome.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

}  // namespace chokepoint::probe
