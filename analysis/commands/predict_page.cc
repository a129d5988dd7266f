// A prediction as a page for people and as the chokepoint.prediction/1 document.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>

#include "analysis/commands/predict.h"
#include "analysis/report/json_values.h"
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
  return "the link";
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
  if (!predicted.target.curve) {
    fmt::print(context.out, "network  {} for each rank, limited by {}\n",
               shown_link(found.rate_mbps), words_of(found.limited_by));
  }
  fmt::print(context.out, "sent     {} per rank and step\n",
             math::format_bytes(predicted.sent_bytes));
  if (predicted.explaining_mbps) {
    fmt::print(context.out, "link     {} would explain the measured time\n",
               shown_link(*predicted.explaining_mbps));
  }
}

std::vector<cli::Cell> cells_of(const std::string& name, const Prediction& then) {
  return {
      name,
      shown_ms(then.step_ms),
      shown_ms(then.exposed_ms),
      shown_s(then.total_s),
      shown_speedup(then.speedup),
      shown_link(then.rate_mbps),
      fmt::format("{}, {}", then.limited_by, then.transport == Transport::Rdma ? "RDMA" : "TCP")};
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

const char* name_of_transport(Transport transport) {
  return transport == Transport::Rdma ? "rdma" : "tcp";
}

Json inputs_of(const PredictFlags& given, const Predicted& predicted) {
  const JobProfile& job = predicted.job();
  const PathProfile& path = predicted.target.path;
  return {
      {"from", text_or_null(given.from)},
      {"parameters", text_or_null(given.parameters)},
      {"type", given.from.empty() && given.type.empty() ? Json("fp32") : text_or_null(given.type)},
      {"parallelism", name_of_parallelism(job.parallelism)},
      {"backend", text_or_null(job.backend)},
      {"ranks", predicted.target.ranks.value_or(job.ranks)},
      {"steps", value_or_null(job.steps)},
      {"single_time_s", value_or_null(job.single_total_s)},
      {"measured_step_ms", job.step_ms > 0 ? Json(job.step_ms) : Json()},
      {"compute_ms", job.compute_ms},
      {"overlap", job.overlap},
      {"request_bytes", job.calls ? Json(job.calls->request_bytes) : Json()},
      {"answer_bytes", job.calls ? Json(job.calls->answer_bytes) : Json()},
      {"calls", job.calls ? Json(job.calls->calls) : Json()},
      {"at_once", job.calls ? Json(job.calls->at_once) : Json()},
      {"call_ms", job.calls ? value_or_null(job.calls->empty_ms) : Json()},
      {"link_mbps", value_or_null(path.rate_mbps)},
      {"throughput_mbps", value_or_null(path.payload_mbps)},
      {"throughput_back_mbps", value_or_null(predicted.target.back_mbps)},
      {"rtt_ms", value_or_null(path.rtt_ms)},
      {"loss", value_or_null(path.loss)},
      {"buffer_bytes", value_or_null(path.window_bytes)},
      {"congestion", given.congestion},
      {"algorithm", given.algorithm},
      {"curve", text_or_null(given.curve)}};
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
  to["total_s"] = value_or_null(prediction.total_s);
  to["speedup"] = value_or_null(prediction.speedup);
  const bool is_known = prediction.rate_mbps > 0;  // 0 where --curve replaces it
  to["network"] = {
      {"rate_mbps", is_known ? Json(prediction.rate_mbps) : Json()},
      {"limited_by", is_known ? Json(prediction.limited_by) : Json()},
      {"transport", is_known ? Json(name_of_transport(prediction.transport)) : Json()}};
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
  document["sent_bytes_per_step"] = predicted.sent_bytes;
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
