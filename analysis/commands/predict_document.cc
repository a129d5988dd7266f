#include "analysis/commands/predict_views.h"
#include "analysis/report/json_values.h"

namespace chokepoint::analysis {
namespace {

using cli::Json;

const char* name_of_parallelism(Parallelism parallelism) {
  switch (parallelism) {
    case Parallelism::Data:
      return "dp";
    case Parallelism::Tensor:
      return "tp";
    case Parallelism::Pipeline:
      return "pp";
    case Parallelism::Zero:
      return "zero";
    case Parallelism::Unknown:
      return "unknown";
  }
  return "unknown";
}

const char* name_of_transport(Transport transport) {
  return transport == Transport::Rdma ? "rdma" : "tcp";
}

Json inputs_of(const PredictFlags& told, const Predicted& predicted) {
  const JobProfile& job = predicted.profile;
  const PathProfile& path = predicted.target.path;
  return {{"from", text_or_null(told.from)},
          {"parameters", text_or_null(told.parameters)},
          {"type", told.from.empty() ? Json(told.type) : Json()},
          {"parallelism", name_of_parallelism(job.parallelism)},
          {"backend", text_or_null(job.backend)},
          {"ranks", predicted.target.ranks.value_or(job.ranks)},
          {"steps", value_or_null(job.steps)},
          {"single_time_s", value_or_null(job.single_total_s)},
          {"measured_step_ms", job.step_ms > 0 ? Json(job.step_ms) : Json()},
          {"compute_ms", job.compute_ms},
          {"overlap", job.overlap},
          {"link_mbps", value_or_null(path.rate_mbps)},
          {"rtt_ms", value_or_null(path.rtt_ms)},
          {"loss", value_or_null(path.loss)},
          {"buffer_bytes", value_or_null(path.window_bytes)},
          {"congestion", told.congestion},
          {"algorithm", told.algorithm},
          {"curve", text_or_null(told.curve)}};
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
  const bool is_known = prediction.rate_mbps > 0;  // else a measured all-reduce stands for it
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

Json document_of(const cli::Context& context, const PredictFlags& told,
                 const Predicted& predicted) {
  Json document = cli::document(context, "chokepoint.prediction/1");
  document["inputs"] = inputs_of(told, predicted);
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
