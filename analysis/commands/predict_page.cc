// A prediction as a page for people.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <vector>

#include "analysis/commands/predict.h"
#include "analysis/commands/predict_document.h"
#include "analysis/predict/outer_steps.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

constexpr double kLeastShownMs = 0.01;  // less of a step is rounding

std::string shown_ms(double ms) {
  return ms < 1        ? math::format_ms(ms)
         : ms < 10     ? fmt::format("{:.2f} ms", ms)
         : ms < 10'000 ? fmt::format("{:.1f} ms", ms)
                       : fmt::format("{:.2f} s", ms / 1000);
}

std::string shown_s(std::optional<double> seconds) {
  if (!seconds) return "–";
  return *seconds < 3 * 3600 ? fmt::format("{:.2f} s", *seconds)
                             : fmt::format("{:.2f} h", *seconds / 3600);
}

std::string shown_speedup(std::optional<double> speedup) {
  return speedup ? fmt::format("{:.2f}", *speedup) : "–";
}

std::string shown_link(double mbps) { return math::format_rate(mbps * 1e6); }

std::string words_of(const std::string& limit) {
  if (limit == "window") return "the sockets' window and the round trip";
  if (limit == "loss") return "TCP's reaction to loss";
  if (limit == "credit") return "Gloo's two segments in flight and the round trip";
  if (limit == "library") return "the library";
  if (limit == "throughput") return "what was measured";
  if (limit == "intra-link") return "the link inside a host";
  return "the link";
}

std::string shown_energy(double joules) {
  constexpr double kKilowattHour = 3.6e6;
  return joules < 10'000          ? fmt::format("{:.1f} J", joules)
         : joules < kKilowattHour ? fmt::format("{:.1f} kJ", joules / 1000)
                                  : fmt::format("{:.2f} kWh", joules / kKilowattHour);
}

void print_energy(const cli::Context& context, const Predicted& predicted) {
  const Prediction& found = predicted.prediction;
  if (!found.energy_j) return;
  fmt::print(context.out, "energy   {} per step", shown_energy(*found.energy_j));
  if (const auto all_j = in_run(predicted, found.energy_j)) {
    fmt::print(context.out, ", {} in all", shown_energy(*all_j));
  }
  fmt::print(context.out, "\n");
}

std::string shown_fit(double bytes, double limit_bytes) {
  return fmt::format("{} {}", bytes <= limit_bytes ? "fits in" : "does not fit in",
                     math::format_bytes(limit_bytes));
}

// Without a transformer's sizes only what it needs at least.
void print_memory(const cli::Context& context, const Predicted& predicted) {
  const auto& memory = predicted.memory;
  const auto& limit = predicted.memory_limit_bytes;
  if (!memory || (!memory->activations && !limit)) return;
  const bool is_open = !memory->activations;
  fmt::print(context.out, "memory   {}{} per rank", is_open ? "at least " : "",
             math::format_bytes(memory->total()));
  if (limit && (!is_open || memory->total() > *limit)) {
    fmt::print(context.out, ": {}", shown_fit(memory->total(), *limit));
  }
  fmt::print(context.out, "\n         {} weights, {} gradients, {} optimizer",
             math::format_bytes(memory->weights), math::format_bytes(memory->gradients),
             math::format_bytes(memory->optimizer));
  if (is_open) {
    fmt::print(context.out, "; activations are unknown (--layers, --hidden, --batch, --sequence)");
  } else {
    fmt::print(context.out, ", {} activations", math::format_bytes(*memory->activations));
  }
  if (memory->logits > 0) {
    fmt::print(context.out, ", {} logits", math::format_bytes(memory->logits));
  }
  fmt::print(context.out, "\n");
}

void print_memory_ways(const cli::Context& context, const Predicted& predicted) {
  using cli::Align;
  if (predicted.memory_ways.empty()) return;
  cli::Table table({{"spread as"},
                    {"weights", Align::Right},
                    {"gradients", Align::Right},
                    {"optimizer", Align::Right},
                    {"activations", Align::Right},
                    {"in all", Align::Right},
                    {""}});
  for (const MemoryWay& way : predicted.memory_ways) {
    const Memory& memory = way.memory;
    const bool is_over = memory.total() > *predicted.memory_limit_bytes;
    const std::string fit = shown_fit(memory.total(), *predicted.memory_limit_bytes);
    table.add({way.name, math::format_bytes(memory.weights), math::format_bytes(memory.gradients),
               math::format_bytes(memory.optimizer),
               memory.activations ? math::format_bytes(*memory.activations + memory.logits) : "–",
               math::format_bytes(memory.total()),
               cli::Cell(memory.activations || is_over ? fit : "unknown",
                         is_over ? cli::Tint::Bad : cli::Tint::None)});
  }
  fmt::print(context.out, "\n");
  table.print(context.out, context.out_terminal);
}

// Sent by: of whom, and what a step, an epoch and a run send.
void print_volumes(const cli::Context& context, const PredictedVolumes& volume,
                   bool is_each_host_a_rank) {
  using cli::Align;
  std::vector<cli::Column> columns{{"sent by"}, {"a step", Align::Right}};
  if (volume.rank.epoch_bytes) columns.push_back({"an epoch", Align::Right});
  if (volume.rank.run_bytes) columns.push_back({"a run", Align::Right});
  cli::Table table(std::move(columns));
  const auto add = [&](const char* name, const std::optional<PredictedVolume>& sent) {
    if (!sent) return;
    std::vector<cli::Cell> cells{name, math::format_bytes(sent->step_bytes)};
    if (sent->epoch_bytes) cells.emplace_back(math::format_bytes(*sent->epoch_bytes));
    if (sent->run_bytes) cells.emplace_back(math::format_bytes(*sent->run_bytes));
    table.add(std::move(cells));
  };
  add("each rank", volume.rank);
  add("each rank, inside its host", volume.inside_host);
  if (!is_each_host_a_rank) add("each host", volume.host);
  add("each NIC", volume.nic);
  add("all hosts, in frames", volume.network_frames);
  fmt::print(context.out, "\n");
  table.print(context.out, context.out_terminal);
}

std::string shown_place(const PredictedGroup& group) {
  return group.crosses_network ? fmt::format("{} hosts, {} share NICs", group.hosts, group.at_once)
                               : "inside a host";
}

void print_groups(const cli::Context& context, const std::vector<PredictedGroup>& groups) {
  using cli::Align;
  if (groups.empty()) return;
  cli::Table table({{"groups"},
                    {"ranks", Align::Right},
                    {"each rank sends", Align::Right},
                    {"each host sends", Align::Right},
                    {"takes", Align::Right},
                    {"exposed", Align::Right},
                    {"where"}});
  for (const PredictedGroup& group : groups) {
    table.add({group.kind, fmt::format("{}", group.ranks), math::format_bytes(group.rank_bytes),
               group.host_bytes > 0 ? math::format_bytes(group.host_bytes) : "–",
               shown_ms(group.communication_ms), shown_ms(group.exposed_ms), shown_place(group)});
  }
  fmt::print(context.out, "\n");
  table.print(context.out, context.out_terminal);
}

void print_ring(const cli::Context& context, const Predicted& predicted) {
  if (!predicted.ring) return;
  const RingChoice& choice = *predicted.ring;
  std::string order;
  for (const std::size_t site : choice.best.order) order += choice.sites[site] + " → ";
  fmt::print(context.out, "ring     {}: {} at its slowest path{}\n",
             cli::printable(order + choice.sites[choice.best.order.front()]),
             shown_link(choice.best.slowest_mbps),
             choice.is_exact ? "" : "; not all orders were tried");
}

void print_outer_steps(const cli::Context& context, const Predicted& predicted) {
  const auto& outer = predicted.job().outer;
  if (!outer) return;
  const OuterTimes times = times_of(*outer, predicted.prediction);
  fmt::print(context.out,
             "exchange every {:.0f} steps, {} each, {} exposed; steps take {:.1f} % of the time\n",
             times.every, shown_ms(times.sync_ms), shown_ms(times.exposed_ms),
             times.utilisation * math::kPercent);
  if (predicted.least_every && *predicted.least_every != times.every) {
    fmt::print(context.out,
               "         the share of --utilisation is reached with every {:.0f} steps\n",
               *predicted.least_every);
  }
}

void print_head(const cli::Context& context, const Predicted& predicted) {
  const Prediction& found = predicted.prediction;
  fmt::print(context.out, "step     {}, between {} and {}\n", shown_ms(found.step_ms),
             shown_ms(found.low_ms), shown_ms(found.high_ms));
  fmt::print(context.out, "         {} computing, {} exposed of {} communication",
             shown_ms(found.compute_ms), shown_ms(found.exposed_ms),
             shown_ms(found.communication_ms));
  if (found.bubble_ms > 0) {
    fmt::print(context.out, ", {} of bubbles", shown_ms(found.bubble_ms));
  }
  if (found.other_ms >= kLeastShownMs) {
    fmt::print(context.out, ", {} other", shown_ms(found.other_ms));
  }
  fmt::print(context.out, "\n");
  print_outer_steps(context, predicted);
  print_ring(context, predicted);
  if (found.total_s) {
    const double each_ms = *found.total_s / found.step_ms;
    fmt::print(context.out, "total    {}, between {} and {}\n", shown_s(found.total_s),
               shown_s(found.low_ms * each_ms), shown_s(found.high_ms * each_ms));
  }
  if (found.speedup) {
    const bool is_of_run = !predicted.profile.single_total_s;
    fmt::print(context.out, "speedup  {} over {}\n", shown_speedup(found.speedup),
               is_of_run ? "the run" : "one processor alone");
  }
  const bool is_of_hosts = predicted.ranks().each() > 1 && found.limited_by != "intra-link";
  if (!predicted.target.curve) {
    fmt::print(context.out, "network  {} for each {}, limited by {}\n", shown_link(found.rate_mbps),
               is_of_hosts ? "host" : "rank", words_of(found.limited_by));
  }
  fmt::print(context.out, "sent     {} per rank and step\n",
             math::format_bytes(predicted.sent.rank));
  print_energy(context, predicted);
  print_memory(context, predicted);
  if (predicted.explaining_mbps) {
    fmt::print(context.out, "link     {} would explain the measured time\n",
               shown_link(*predicted.explaining_mbps));
  }
}

std::vector<cli::Cell> cells_of(const std::string& name, const Prediction& then) {
  return {name,
          shown_ms(then.step_ms),
          shown_ms(then.exposed_ms),
          shown_s(then.total_s),
          shown_speedup(then.speedup),
          shown_link(then.rate_mbps),
          then.transport == Transport::Unknown
              ? then.limited_by
              : fmt::format("{}, {}", then.limited_by,
                            then.transport == Transport::Rdma ? "RDMA" : "TCP")};
}

void print_links(const cli::Context& context, const Predicted& predicted) {
  using cli::Align;
  cli::Table table({{"what if"},
                    {"step", Align::Right},
                    {"exposed", Align::Right},
                    {"total", Align::Right},
                    {"speedup", Align::Right},
                    {"payload", Align::Right},
                    {"limited by"}});
  if (!predicted.target.curve) {
    table.add(cells_of("as asked", predicted.prediction));
  }
  for (const Alternative& row : predicted.alternatives) {
    table.add(cells_of(row.name, row.prediction));
  }
  table.print(context.out, context.out_terminal);
}

void print_gains(const cli::Context& context, const Predicted& predicted) {
  using cli::Align;
  cli::Table table({{"upgrade"},
                    {"cost", Align::Right},
                    {"saved per run", Align::Right},
                    {"cost per saved hour", Align::Right},
                    {"paid back after", Align::Right}});
  bool has_rows = false;
  for (const Alternative& row : predicted.alternatives) {
    if (!row.upgrade || !row.gain) continue;
    has_rows = true;
    const Gain& gain = *row.gain;
    table.add({row.name, fmt::format("{:.0f}", row.upgrade->cost), shown_s(gain.saved_s),
               gain.cost_of_hour ? fmt::format("{:.2f}", *gain.cost_of_hour) : "never",
               gain.paid_back_after ? fmt::format("{:.0f} runs", *gain.paid_back_after) : "–"});
  }
  if (has_rows) {
    fmt::print(context.out, "\n");
    table.print(context.out, context.out_terminal);
  }
}

}  // namespace

void print_page(const cli::Context& context, const PredictFlags& given,
                const Predicted& predicted) {
  const ShownPrediction document = document_of(given, predicted);
  print_head(context, predicted);
  fmt::print(context.out, "\n");
  print_links(context, predicted);
  print_gains(context, predicted);
  print_groups(context, document.groups);
  print_volumes(context, document.volume, predicted.ranks().each() <= 1);
  print_memory_ways(context, predicted);
  if (!predicted.assumptions.empty()) {
    fmt::print(context.out, "\nassumed\n");
    for (const std::string& line : predicted.assumptions) {
      fmt::print(context.out, "{}", cli::wrapped(line, context.out_terminal.width, 2));
    }
  }
}

}  // namespace chokepoint::analysis
