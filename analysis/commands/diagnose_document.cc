// The chokepoint.diagnosis/1 document.
#include "analysis/attribution/causes.h"
#include "analysis/commands/diagnose.h"
#include "analysis/load/run_summary.h"
#include "analysis/report/json_values.h"

namespace chokepoint::analysis {
namespace {

using cli::Json;

Json json_of(const StepTimes& steps) {
  return {{"count", steps.source ? Json(steps.count) : Json()},
          {"mean_ms", value_or_null(steps.mean_ms)},
          {"median_ms", value_or_null(steps.median_ms)},
          {"p99_ms", value_or_null(steps.p99_ms)},
          {"source", steps.source ? Json(name_of(*steps.source)) : Json()}};
}

Json json_of(const Where& where) {
  return {
      {"from", text_or_null(where.from)},           {"to", text_or_null(where.to)},
      {"direction", text_or_null(where.direction)}, {"interface", text_or_null(where.interface)},
      {"node", text_or_null(where.node)},           {"rank", value_or_null(where.rank)}};
}

Json json_of(const std::vector<Evidence>& evidence) {
  Json list = Json::array();
  for (const Evidence& each : evidence) {
    list.push_back({{"what", each.what},
                    {"value", value_or_null(each.value)},
                    {"unit", text_or_null(each.unit)},
                    {"from", text_or_null(each.from)}});
  }
  return list;
}

Json commands_of(const std::vector<Advice>& advice) {
  Json list = Json::array();
  for (const Advice& each : advice) {
    if (!each.command.empty()) {
      list.push_back(each.command);
    }
  }
  return list;
}

// What is lost is known only where steps were accounted for.
Json json_of(const Verdict& verdict, const std::string& sentence, bool is_accounted) {
  Json advice = Json::array();
  for (const Advice& each : verdict.advice) {
    advice.push_back(advice_text(each));
  }
  return {{"class", name_of(verdict.verdict)},
          {"cause", text_or_null(name_of(verdict.cause))},
          {"sentence", sentence},
          {"where", json_of(verdict.where)},
          {"lost_ms_per_step", is_accounted ? Json(verdict.lost_ms_per_step) : Json()},
          {"share_percent", is_accounted ? Json(verdict.share_percent) : Json()},
          {"confidence", verdict.confidence},
          {"evidence", json_of(verdict.evidence)},
          {"disproof", text_or_null(verdict.disproof)},
          {"advice", std::move(advice)},
          {"commands", commands_of(verdict.advice)}};
}

Json json_of(const std::vector<RankFigures>& ranks) {
  Json list = Json::array();
  for (const RankFigures& each : ranks) {
    list.push_back({{"rank", each.rank},
                    {"node", text_or_null(each.node)},
                    {"computing_ms", each.computing_ms},
                    {"waiting_ms", each.waiting_ms}});
  }
  return list;
}

}  // namespace

Json accounts_document(const std::optional<Accounting>& accounting) {
  if (!accounting) {
    return {};
  }
  Json accounts = Json::object();
  for (std::size_t index = 0; index < kAccounts; ++index) {
    accounts[name_of(static_cast<Account>(index))] = accounting->ms[index];
  }
  return accounts;
}

cli::Json document_of(const cli::Context& context, const Diagnosis& diagnosis) {
  const bool is_accounted = diagnosis.accounting.has_value();
  Json document = cli::document(context, "chokepoint.diagnosis/1");
  document["run"] = diagnosis.run;
  document["command"] = text_or_null(diagnosis.command);
  document["labels"] = Json::object();
  for (const auto& [key, value] : diagnosis.labels) {
    document["labels"][key] = value;
  }
  document["nodes"] = diagnosis.nodes;
  document["complete"] = diagnosis.is_complete;
  document["steps"] = json_of(diagnosis.steps);
  document["accounting_ms_per_step"] = accounts_document(diagnosis.accounting);
  document["verdict"] = json_of(diagnosis.verdict, sentence_of(diagnosis), is_accounted);
  document["others"] = Json::array();
  for (const Verdict& other : diagnosis.others) {
    document["others"].push_back(json_of(other, sentence_of(other), is_accounted));
  }
  document["ranks"] = json_of(diagnosis.ranks);
  document["missing"] = diagnosis.missing;
  return document;
}

}  // namespace chokepoint::analysis
