// The page of an RDMA test: both sides, the figures, what the ports counted and whether the fabric
// was clean.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <set>

#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/units.h"
#include "rdma/commands/rdma_test_report.h"

namespace chokepoint::rdma {
namespace {

using cli::Align;
using cli::Table;
using session::Round;
using session::SideFacts;
using session::Trial;

constexpr double kMaxSharePercent = 102;  // above it the rate that the device reports is false

std::string size_text(std::uint32_t bytes) {
  constexpr std::uint32_t kKibi = 1024;
  if (bytes >= kKibi * kKibi && bytes % (kKibi * kKibi) == 0) {
    return fmt::format("{} MiB", bytes / kKibi / kKibi);
  }
  return bytes >= kKibi && bytes % kKibi == 0 ? fmt::format("{} KiB", bytes / kKibi)
                                              : fmt::format("{} B", bytes);
}

std::string rate_text(const std::optional<double>& mbps) {
  if (!mbps) {
    return "not measured";
  }
  return math::format_rate(*mbps * math::kMega);
}

std::string count_text(const std::optional<double>& count) {
  return count ? fmt::format("{:.0f}", *count) : "not measured";
}

std::string latency_text(double us) { return math::format_ms(us / 1e3); }

// In a column of microseconds.
std::string micro_text(double us) { return fmt::format("{:.2f}", us); }

std::string port_text(const SideFacts& side) {
  const std::string port = fmt::format("{} port {}", side.device, side.port);
  return side.netdev.empty() ? port : fmt::format("{} ({})", port, side.netdev);
}

std::string gid_text(const SideFacts& side) {
  return fmt::format("{}: {}, {}", side.gid_index, session::text_of(side.gid),
                     name_of(side.gid_type));
}

std::string mtu_text(const Trial& trial, const SideFacts& side) {
  const int used = trial.agreement.mtu_bytes;
  return side.active_mtu_bytes == used ? fmt::format("{}", used)
                                       : fmt::format("{} of {}", used, side.active_mtu_bytes);
}

void print_sides(const cli::Context& context, const Trial& trial, const std::string& peer) {
  Table table({{""}, {"here"}, {peer}});
  table.add({"device", port_text(trial.client), port_text(trial.server)});
  table.add({"GID", gid_text(trial.client), gid_text(trial.server)});
  table.add({"MTU", mtu_text(trial, trial.client), mtu_text(trial, trial.server)});
  if (trial.parameters.client_memory != session::Memory{} ||
      trial.parameters.server_memory != session::Memory{}) {
    table.add({"memory", session::text_of(trial.parameters.client_memory),
               session::text_of(trial.parameters.server_memory)});
  }
  if (trial.rounds.size() == 1) {
    table.add({"processor", fmt::format("{:.0f} %", trial.rounds.front().client.cpu_percent),
               fmt::format("{:.0f} %", trial.rounds.front().server.cpu_percent)});
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
}

std::string operation_text(const Trial& trial) {
  constexpr std::string_view kSpace = " ";
  std::string text(name_of(trial.parameters.operation));
  for (std::size_t at = text.find('_'); at != std::string::npos; at = text.find('_')) {
    text.replace(at, 1, kSpace);
  }
  return fmt::format("{} over {}", text, name_of(trial.parameters.transport));
}

std::string shape_text(const Trial& trial) {
  const perf::Plan& plan = trial.agreement.rounds.front();
  std::string text = operation_text(trial);
  if (trial.agreement.rounds.size() == 1) {
    text += fmt::format(", messages of {}", size_text(plan.message_bytes));
  }
  if (plan.metric == perf::Metric::Bandwidth) {
    text += fmt::format(", {} queue pair{}, depth {}", plan.queue_pairs,
                        plan.queue_pairs == 1 ? "" : "s", plan.depth);
  }
  return plan.both_ways ? text + ", both directions" : text;
}

std::string share_text(const Trial& trial, const Round& round,
                       const documents::RdmaFigures& figures) {
  const std::optional<double> ceiling = ceiling_mbps(trial, round.plan.message_bytes);
  if (!ceiling || !figures.average_mbps) {
    return {};
  }
  const double share = *figures.average_mbps / *ceiling * 100;
  return share > kMaxSharePercent
             ? std::string()
             : fmt::format("{:.1f} % of {}: {} at MTU {}", share, rate_text(ceiling),
                           trial.client.rate, trial.agreement.mtu_bytes);
}

void print_bandwidth(const cli::Context& context, const Trial& trial, const Round& round) {
  const documents::RdmaFigures figures = figures_of(round);
  Table table({{""}, {shape_text(trial)}});
  table.add({"average throughput", rate_text(figures.average_mbps)});
  table.add({"peak throughput", rate_text(figures.peak_mbps)});
  table.add({"messages", fmt::format("{} in {:.2f} s", *figures.iterations, *figures.duration_s)});
  table.add({"message rate", count_text(figures.message_rate_per_s) + " /s"});
  if (figures.lost) {
    table.add({"lost", fmt::format("{}", *figures.lost)});
  }
  const std::string share = share_text(trial, round, figures);
  if (!share.empty()) {
    table.add({"of the line", share});
  }
  table.print(context.out, context.out_terminal);
}

bool is_half_a_round_trip(const Trial& trial) {
  const verbs::Operation operation = trial.parameters.operation;
  return operation != verbs::Operation::Read && !verbs::is_atomic(operation);
}

void print_latency(const cli::Context& context, const Trial& trial, const Round& round) {
  Table table({{""}, {shape_text(trial)}});
  const std::optional<documents::RdmaLatency> latency = figures_of(round).latency_us;
  if (!latency) {
    table.add({"latency", "not measured"});
    table.print(context.out, context.out_terminal);
    return;
  }
  table.add({"median", latency_text(latency->median)});
  table.add({"mean", latency_text(latency->mean)});
  table.add({"min", latency_text(latency->min)});
  table.add({"p99", latency_text(latency->p99)});
  table.add({"p99.9", latency_text(latency->p999)});
  table.add({"max", latency_text(latency->max)});
  table.add({"samples", fmt::format("{}, each {} round trip", latency->count,
                                    is_half_a_round_trip(trial) ? "half a" : "a whole")});
  table.print(context.out, context.out_terminal);
}

void print_bandwidth_sweep(const cli::Context& context, const Trial& trial) {
  Table table({{"message", Align::Right},
               {"messages", Align::Right},
               {"average Mb/s", Align::Right},
               {"peak Mb/s", Align::Right},
               {"messages/s", Align::Right}});
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.2f}", *value) : std::string("-");
  };
  for (const Round& round : trial.rounds) {
    const documents::RdmaFigures figures = figures_of(round);
    table.add({size_text(round.plan.message_bytes), fmt::format("{}", *figures.iterations),
               number(figures.average_mbps), number(figures.peak_mbps),
               count_text(figures.message_rate_per_s)});
  }
  table.print(context.out, context.out_terminal);
}

void print_latency_sweep(const cli::Context& context, const Trial& trial) {
  Table table({{"message", Align::Right},
               {"samples", Align::Right},
               {"min µs", Align::Right},
               {"median", Align::Right},
               {"mean", Align::Right},
               {"p99", Align::Right},
               {"p99.9", Align::Right},
               {"max", Align::Right}});
  for (const Round& round : trial.rounds) {
    const documents::RdmaLatency latency =
        figures_of(round).latency_us.value_or(documents::RdmaLatency());
    table.add({size_text(round.plan.message_bytes), fmt::format("{}", latency.count),
               micro_text(latency.min), micro_text(latency.median), micro_text(latency.mean),
               micro_text(latency.p99), micro_text(latency.p999), micro_text(latency.max)});
  }
  table.print(context.out, context.out_terminal);
}

void print_counters(const cli::Context& context, const Trial& trial, const std::string& peer) {
  std::set<std::string> names;
  for (const fabric::Changes* side : {&trial.client_counters, &trial.server_counters}) {
    for (const auto& [name, value] : side->grown) {
      names.insert(name);
    }
  }
  if (names.empty()) {
    return;
  }
  Table table({{"counted"}, {"here", Align::Right}, {peer, Align::Right}});
  const auto cell = [](const fabric::Changes& side, const std::string& name) {
    const std::optional<std::uint64_t> value = side.of(name);
    return value ? fmt::format("{}", *value) : std::string("-");
  };
  for (const std::string& name : names) {
    table.add({name, cell(trial.client_counters, name), cell(trial.server_counters, name)});
  }
  context.out << '\n';
  table.print(context.out, context.out_terminal);
}

void print_check(const cli::Context& context, const Trial& trial) {
  std::uint64_t wrong = 0;
  std::uint64_t messages = 0;
  bool compared = false;
  for (const Round& round : trial.rounds) {
    const documents::RdmaFigures figures = figures_of(round);
    wrong += figures.mismatches.value_or(0);
    messages += *figures.iterations;
    compared = compared || figures.mismatches.has_value();
  }
  if (!trial.parameters.check) {
    return;
  }
  fmt::print(
      context.out, "{}\n",
      !compared ? "What arrived was not checked: this operation leaves nothing to compare."
      : wrong == 0
          ? fmt::format("Of {} messages all that were compared are as they were sent.", messages)
          : fmt::format("{} messages differ from what was sent.", wrong));
}

void print_figures(const cli::Context& context, const Trial& trial) {
  const bool bandwidth = trial.parameters.metric == perf::Metric::Bandwidth;
  if (trial.agreement.rounds.size() > 1) {
    fmt::print(context.out, "{}\n", shape_text(trial));
    bandwidth ? print_bandwidth_sweep(context, trial) : print_latency_sweep(context, trial);
  } else if (!trial.rounds.empty()) {
    bandwidth ? print_bandwidth(context, trial, trial.rounds.front())
              : print_latency(context, trial, trial.rounds.front());
  }
}

}  // namespace

void print_page(const cli::Context& context, const Trial& trial, const fabric::Judgement& fabric,
                const std::string& peer) {
  print_sides(context, trial, peer);
  print_figures(context, trial);
  print_counters(context, trial, peer);
  context.out << '\n';
  for (const std::string& lowered : trial.agreement.lowered) {
    fmt::print(context.out, "Below the default: {}.\n", cli::printable(lowered));
  }
  print_check(context, trial);
  fmt::print(context.out, "{}\n", fabric.sentence);
  if (!fabric.next_step.empty()) {
    fmt::print(context.out, "{}\n", fabric.next_step);
  }
  if (trial.failure) {
    context.out << "The test failed: these are the results until then.\n";
  }
  if (trial.interrupted) {
    context.out << "Interrupted: these are the results until then.\n";
  }
}

}  // namespace chokepoint::rdma
