// A prediction as a page for people and as the chokepoint.prediction/1 document.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "analysis/commands/predict.h"
#include "analysis/predict/grid.h"
#include "analysis/report/document_parts.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/math/tcp_rate.h"
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

// Of all steps together.
std::optional<double> in_run(const Predicted& predicted, std::optional<double> of_step) {
  const Prediction& found = predicted.prediction;
  if (!found.total_s || !of_step) return std::nullopt;
  return *of_step * *found.total_s * 1000 / found.step_ms;
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

struct VolumeRow {
  const char* name;  // for people
  const char* key;   // in the document
  double bytes;      // a step, of payload
};

// What an Ethernet carries for each byte of TCP's payload; of RDMA nothing is counted beside it.
double frames_of_payload(const Predicted& predicted) {
  const double rate_mbps =
      predicted.target.path.rate_mbps.value_or(predicted.profile.path.rate_mbps.value_or(0));
  const bool is_tcp = transport_of(predicted.target.transport, predicted.job().backend,
                                   rate_mbps) == Transport::Tcp;
  return is_tcp ? math::kFrameBytes / math::kSegmentBytes : 1;
}

// Which links a step's payload passes, those without any left out.
std::vector<VolumeRow> volumes_of(const Predicted& predicted) {
  const Load& sent = predicted.sent;
  std::vector<VolumeRow> rows{{"each rank", "rank", sent.rank}};
  if (predicted.ranks().each() > 1) {
    rows.push_back({"each rank, inside its host", "inside_host", sent.inside});
  }
  if (sent.host > 0) {
    rows.push_back({"each host", "host", sent.host});
    if (predicted.target.nics > 1) {
      rows.push_back({"each NIC", "nic", sent.host / predicted.target.nics});
    }
    rows.push_back(
        {"all hosts, in frames", "network_frames", sent.network * frames_of_payload(predicted)});
  }
  return rows;
}

void print_volumes(const cli::Context& context, const Predicted& predicted) {
  using cli::Align;
  const bool has_run = in_run(predicted, 1).has_value();
  std::vector<cli::Column> columns{{"sent by"}, {"a step", Align::Right}};
  if (predicted.epochs) columns.push_back({"an epoch", Align::Right});
  if (has_run) columns.push_back({"a run", Align::Right});
  cli::Table table(std::move(columns));
  const bool is_each_host_a_rank = predicted.ranks().each() <= 1;
  for (const VolumeRow& row : volumes_of(predicted)) {
    if (is_each_host_a_rank && std::string_view(row.key) == "host") continue;
    std::vector<cli::Cell> cells{row.name, math::format_bytes(row.bytes)};
    const double in_all = in_run(predicted, row.bytes).value_or(0);
    if (predicted.epochs) cells.emplace_back(math::format_bytes(in_all / *predicted.epochs));
    if (has_run) cells.emplace_back(math::format_bytes(in_all));
    table.add(std::move(cells));
  }
  fmt::print(context.out, "\n");
  table.print(context.out, context.out_terminal);
}

// A grid's groups of one kind, in the order in which ranks are counted.
struct GroupRow {
  std::string kind = {};  // "tp", "dp", "zero1" …, "pp"
  double ranks = 1;       // of a group
  double hosts = 1;       // that the group on most is on
  double at_once = 0;     // that the busiest host's NICs serve together
  Load sent = {};
  GroupTimes times = {};
};

GroupRow row_of(const JobProfile& job, const GroupTimes& times) {
  const Grid& grid = *job.grid;
  GroupRow row{.times = times};
  if (times.of == Parallelism::Pipeline) {
    const PipelineProfile::Stages& stages = *job.pipeline->stages;
    row.kind = "pp";
    row.ranks = stages.count;
    row.hosts = 1 + static_cast<double>(std::ranges::count(stages.is_between, true));
    row.at_once = stages.at_once;
    return row;
  }
  const bool is_tensor = times.of == Parallelism::Tensor;
  const auto own = std::ranges::find(job.exchanges, times.of, &PlannedExchange::of);
  row.kind = is_tensor ? "tp" : grid.zero_stage > 0 ? fmt::format("zero{}", grid.zero_stage) : "dp";
  row.ranks = own->ranks;
  row.hosts = own->at->hosts;
  row.at_once = own->at->at_once;
  return row;
}

std::vector<GroupRow> groups_of(const Predicted& predicted) {
  std::vector<GroupRow> rows;
  for (const GroupTimes& times : predicted.prediction.groups) {
    GroupRow row = row_of(predicted.job(), times);
    row.sent = load_of(predicted.job(), predicted.target.algorithm, predicted.ranks(), times.of);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string shown_place(const GroupRow& row) {
  return row.hosts > 1 ? fmt::format("{:g} hosts, {:g} share NICs", row.hosts, row.at_once)
                       : "inside a host";
}

void print_groups(const cli::Context& context, const Predicted& predicted) {
  using cli::Align;
  const std::vector<GroupRow> rows = groups_of(predicted);
  if (rows.empty()) return;
  cli::Table table({{"groups"},
                    {"ranks", Align::Right},
                    {"each rank sends", Align::Right},
                    {"each host sends", Align::Right},
                    {"takes", Align::Right},
                    {"exposed", Align::Right},
                    {"where"}});
  for (const GroupRow& row : rows) {
    table.add({row.kind, fmt::format("{:g}", row.ranks), math::format_bytes(row.sent.rank),
               row.sent.host > 0 ? math::format_bytes(row.sent.host) : "–",
               shown_ms(row.times.communication_ms), shown_ms(row.times.exposed_ms),
               shown_place(row)});
  }
  fmt::print(context.out, "\n");
  table.print(context.out, context.out_terminal);
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

using cli::Json;

const char* name_of_parallelism(Parallelism parallelism) {
  constexpr std::array kNames{"dp", "zero", "tp", "pp", "rpc", "unknown"};
  static_assert(kNames.size() == static_cast<std::size_t>(Parallelism::Unknown) + 1);
  return kNames.at(static_cast<std::size_t>(parallelism));
}

Json json_of(Transport transport) {
  if (transport == Transport::Unknown) return {};
  return transport == Transport::Rdma ? "rdma" : "tcp";
}

// Of a step, an epoch and a run; null where their number is not known.
Json volume_json_of(const Predicted& predicted) {
  Json volume = Json::object();
  for (const VolumeRow& row : volumes_of(predicted)) {
    const auto in_all = in_run(predicted, row.bytes);
    const bool has_epochs = in_all && predicted.epochs;
    volume[row.key] = {{"step_bytes", row.bytes},
                       {"epoch_bytes", has_epochs ? Json(*in_all / *predicted.epochs) : Json()},
                       {"run_bytes", value_or_null(in_all)}};
  }
  return volume;
}

Json groups_json_of(const Predicted& predicted) {
  Json groups = Json::array();
  for (const GroupRow& row : groups_of(predicted)) {
    groups.push_back({{"kind", row.kind},
                      {"ranks", static_cast<std::int64_t>(row.ranks)},
                      {"hosts", static_cast<std::int64_t>(row.hosts)},
                      {"crosses_network", row.hosts > 1},
                      {"at_once", static_cast<std::int64_t>(row.at_once)},
                      {"rank_bytes", row.sent.rank},
                      {"inside_host_bytes", row.sent.inside},
                      {"host_bytes", row.sent.host},
                      {"network_bytes", row.sent.network},
                      {"communication_ms", row.times.communication_ms},
                      {"exposed_ms", row.times.exposed_ms}});
  }
  return groups;
}

Json json_of(const Memory& memory) {
  return {{"weights_bytes", memory.weights},
          {"gradients_bytes", memory.gradients},
          {"optimizer_bytes", memory.optimizer},
          {"activations_bytes", value_or_null(memory.activations)},
          {"logits_bytes", memory.logits},
          {"total_bytes", memory.total()}};
}

// Fits is null where the activations are not known and the rest alone would.
Json memory_json_of(const Predicted& predicted) {
  if (!predicted.memory) return {};
  const auto& limit = predicted.memory_limit_bytes;
  const auto with_fit = [&](const Memory& memory) {
    Json told = json_of(memory);
    const bool is_over = limit && memory.total() > *limit;
    told["fits"] = limit && (memory.activations || is_over) ? Json(!is_over) : Json();
    return told;
  };
  Json told = with_fit(*predicted.memory);
  told["limit_bytes"] = value_or_null(limit);
  told["ways"] = Json::array();
  for (const MemoryWay& way : predicted.memory_ways) {
    Json row = with_fit(way.memory);
    row["parallelism"] = way.name;
    told["ways"].push_back(std::move(row));
  }
  return told;
}

Json inputs_of(const PredictFlags& given, const Predicted& predicted) {
  const JobProfile& job = predicted.job();
  const PathProfile& path = predicted.target.path;
  return {
      {"from", text_or_null(given.from)},
      {"parameters", text_or_null(given.parameters)},
      {"type", given.from.empty() && given.type.empty() ? Json("fp32") : text_or_null(given.type)},
      {"parallelism", job.grid ? name_of(*job.grid) : name_of_parallelism(job.parallelism)},
      {"backend", text_or_null(job.backend)},
      {"ranks", predicted.target.ranks.value_or(job.ranks)},
      {"nodes", static_cast<std::int64_t>(predicted.ranks().hosts())},
      {"nics", static_cast<std::int64_t>(predicted.target.nics)},
      {"steps", value_or_null(job.steps)},
      {"epochs", value_or_null(predicted.epochs)},
      {"single_time_s", value_or_null(job.single_total_s)},
      {"measured_step_ms", job.step_ms > 0 ? Json(job.step_ms) : Json()},
      {"compute_ms", job.compute_ms},
      {"overlap", job.overlap},
      {"request_bytes", job.calls ? Json(job.calls->request_bytes) : Json()},
      {"answer_bytes", job.calls ? Json(job.calls->answer_bytes) : Json()},
      {"calls", job.calls ? Json(job.calls->calls) : Json()},
      {"at_once", job.calls ? Json(job.calls->at_once) : Json()},
      {"call_ms", job.calls ? value_or_null(job.calls->empty_ms) : Json()},
      {"power_w", value_or_null(job.power_w)},
      {"link_mbps", value_or_null(path.rate_mbps)},
      {"intra_link_mbps", value_or_null(predicted.target.inside_mbps)},
      {"throughput_mbps", value_or_null(path.payload_mbps)},
      {"throughput_back_mbps", value_or_null(predicted.target.back_mbps)},
      {"rtt_ms", value_or_null(path.rtt_ms)},
      {"loss", value_or_null(path.loss)},
      {"buffer_bytes", value_or_null(path.window_bytes)},
      {"congestion", given.congestion},
      {"algorithm", given.algorithm},
      {"curve", text_or_null(given.curve)},
      {"late", given.late.empty() ? Json() : Json(predicted.change.late_times)},
      {"rank_order", given.rank_order.empty() ? Json() : Json(predicted.change.rank_order)}};
}

void add(Json& to, const Prediction& prediction) {
  to["step_ms"] = prediction.step_ms;
  to["low_ms"] = prediction.low_ms;
  to["high_ms"] = prediction.high_ms;
  to["breakdown_ms"] = {{"compute", prediction.compute_ms},
                        {"communication", prediction.communication_ms},
                        {"exposed", prediction.exposed_ms},
                        {"bubble", prediction.bubble_ms},
                        {"other", prediction.other_ms}};
  to["method"] = prediction.models_step_ms ? "replay" : "models";
  to["models_step_ms"] = prediction.models_step_ms.value_or(prediction.step_ms);
  to["total_s"] = value_or_null(prediction.total_s);
  to["speedup"] = value_or_null(prediction.speedup);
  const bool is_known = prediction.rate_mbps > 0;  // 0 where --curve replaces it
  to["network"] = {{"rate_mbps", is_known ? Json(prediction.rate_mbps) : Json()},
                   {"limited_by", is_known ? Json(prediction.limited_by) : Json()},
                   {"transport", is_known ? json_of(prediction.transport) : Json()}};
  to["energy_j_per_step"] = value_or_null(prediction.energy_j);
}

Json json_of(const Alternative& alternative) {
  Json row = {{"name", alternative.name}, {"link_mbps", alternative.link_mbps}};
  add(row, alternative.prediction);
  if (alternative.upgrade) {
    row["cost"] = alternative.upgrade->cost;
    row["saved_s"] = alternative.gain ? Json(alternative.gain->saved_s) : Json();
    row["cost_per_saved_hour"] =
        alternative.gain ? value_or_null(alternative.gain->cost_of_hour) : Json();
    row["paid_back_after_runs"] =
        alternative.gain ? value_or_null(alternative.gain->paid_back_after) : Json();
  }
  return row;
}

}  // namespace

void print_page(const cli::Context& context, const Predicted& predicted) {
  print_head(context, predicted);
  fmt::print(context.out, "\n");
  print_links(context, predicted);
  print_gains(context, predicted);
  print_groups(context, predicted);
  print_volumes(context, predicted);
  print_memory_ways(context, predicted);
  if (!predicted.assumptions.empty()) {
    fmt::print(context.out, "\nassumed\n");
    for (const std::string& line : predicted.assumptions) {
      fmt::print(context.out, "{}", cli::wrapped(line, context.out_terminal.width, 2));
    }
  }
}

Json document_of(const cli::Context& context, const PredictFlags& given,
                 const Predicted& predicted) {
  Json document = cli::document(context, "chokepoint.prediction/1");
  document["inputs"] = inputs_of(given, predicted);
  add(document, predicted.prediction);
  document["sent_bytes_per_step"] = predicted.sent.rank;
  document["volume"] = volume_json_of(predicted);
  document["groups"] = groups_json_of(predicted);
  document["memory"] = memory_json_of(predicted);
  document["explaining_link_mbps"] = value_or_null(predicted.explaining_mbps);
  document["alternatives"] = Json::array();
  document["upgrades"] = Json::array();
  for (const Alternative& alternative : predicted.alternatives) {
    document[alternative.upgrade ? "upgrades" : "alternatives"].push_back(json_of(alternative));
  }
  document["assumptions"] = predicted.assumptions;
  return document;
}

}  // namespace chokepoint::analysis
