// The chokepoint.comparison/1 document, and the rows of a comparison as CSV.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include "analysis/attribution/causes.h"
#include "analysis/commands/compare.h"
#include "analysis/commands/diagnose.h"
#include "analysis/compare/compare.h"
#include "analysis/load/run_summary.h"
#include "analysis/report/document_parts.h"
#include "base/cli/table.h"

namespace chokepoint::analysis {
namespace {

using cli::Json;

const char* name_of_unit(const FigureTraits& figure) {
  constexpr std::array kNames{"per_s", "factor", "mbps", "bytes", "bytes", "ms", "s"};
  static_assert(kNames.size() == static_cast<std::size_t>(Unit::Plain));
  if (figure.unit != Unit::Plain) {
    return kNames.at(static_cast<std::size_t>(figure.unit));
  }
  const std::string_view plain = figure.plain;
  return plain == ""        ? "count"
         : plain == "%"     ? "percent"
         : plain == "µs"    ? "us"
         : plain == "per s" ? "per_s"
                            : figure.plain;
}

Json json_of(const FigureTraits& figure) {
  const Json better = figure.better == Better::More ? "more" : "less";
  return {{"key", figure.key},
          {"title", figure.title},
          {"unit", name_of_unit(figure)},
          {"better", figure.better == Better::Neither ? Json() : better}};
}

std::optional<double> low_of(const std::optional<math::Interval>& interval) {
  return interval ? std::optional(interval->low) : std::nullopt;
}

std::optional<double> high_of(const std::optional<math::Interval>& interval) {
  return interval ? std::optional(interval->high) : std::nullopt;
}

Json json_of(const std::optional<Estimate>& estimate) {
  if (!estimate) {
    return {};
  }
  return {{"mean", estimate->mean},
          {"sd", value_or_null(estimate->sd)},
          {"low", value_or_null(low_of(estimate->interval))},
          {"high", value_or_null(high_of(estimate->interval))},
          {"min", estimate->min},
          {"max", estimate->max},
          {"count", estimate->count}};
}

Json json_of(const std::vector<AccountChange>& causes) {
  Json list = Json::array();
  for (const AccountChange& cause : causes) {
    list.push_back({{"account", name_of(cause.account)},
                    {"words", words_of(cause.account)},
                    {"ms_per_step", cause.ms_per_step},
                    {"share_percent", cause.share_percent}});
  }
  return list;
}

Json json_of(const std::vector<FactChange>& facts) {
  Json list = Json::array();
  for (const FactChange& fact : facts) {
    list.push_back({{"hosts", fact.hosts},
                    {"subject", fact.subject},
                    {"key", text_or_null(fact.key)},
                    {"before", value_or_null(fact.before)},
                    {"after", value_or_null(fact.after)},
                    {"sentence", text_of(fact)}});
  }
  return list;
}

Json json_of_difference(const Comparison& comparison, const Group& group) {
  if (!group.difference) {
    return {};
  }
  const Difference& difference = *group.difference;
  return {{"baseline", difference.baseline},
          {"before", value_or_null(difference.before)},
          {"after", value_or_null(difference.after)},
          {"change_percent", value_or_null(difference.change_percent)},
          {"low_percent", value_or_null(low_of(difference.percent))},
          {"high_percent", value_or_null(high_of(difference.percent))},
          {"test", difference.test ? Json(texts_of(*difference.test).name) : Json()},
          {"p", value_or_null(difference.p)},
          {"p_corrected", value_or_null(difference.p_corrected)},
          {"why_no_test", text_or_null(difference.why_no_test)},
          {"is_beyond_noise", difference.is_beyond_noise},
          {"is_worse", value_or_null(difference.is_worse)},
          {"causes", json_of(difference.causes)},
          {"host_facts", json_of(difference.facts)},
          {"sentence", sentence_of(comparison, group)}};
}

Json verdict_of(const Comparison& comparison, const Group& group) {
  if (comparison.is_of_probes) {
    return {};
  }
  const std::optional<Estimate>& lost = group[Figure::LostMs];
  return {{"class", name_of(group.verdict)},
          {"lost_ms_per_step", lost ? Json(lost->mean) : Json()},
          {"classes", group.verdicts}};
}

Json json_of(const Comparison& comparison, const Group& group) {
  Json keys = Json::object();
  for (std::size_t at = 0; at < comparison.keys.size(); ++at) {
    keys[comparison.keys[at]] = value_or_null(group.values[at]);
  }
  Json figures = Json::object();
  for (const Figure figure : figures_in(comparison)) {
    figures[traits_of(figure).key] = json_of(group[figure]);
  }
  return {
      {"name", group.name},
      {"keys", std::move(keys)},
      {"runs", group.runs},
      {"gpus", value_or_null(group.gpus)},
      {"figures", std::move(figures)},
      {"scaling_reference",
       group.scaling_reference ? Json(comparison.groups[*group.scaling_reference].name) : Json()},
      {"accounting_ms_per_step", accounts_document(group.accounting)},
      {"verdict", verdict_of(comparison, group)},
      {"is_baseline", group.is_baseline},
      {"difference", json_of_difference(comparison, group)}};
}

Json figures_of(const Comparison& comparison, const ComparedRun& run) {
  Json figures = Json::object();
  for (const Figure each : figures_in(comparison)) {
    if (each != Figure::ScalingFactor) {
      const std::optional<SourcedValue>& figure = run[each];
      figures[traits_of(each).key] =
          figure ? Json{{"value", figure->value}, {"from", figure->from}} : Json();
    }
  }
  return figures;
}

Json verdict_of(const ComparedRun& run) {
  if (run.is_probe) {
    return {};
  }
  const bool is_accounted = run.accounting.has_value();
  return {{"class", name_of(run.verdict.verdict)},
          {"cause", text_or_null(name_of(run.verdict.cause))},
          {"sentence", run.sentence},
          {"lost_ms_per_step", is_accounted ? Json(run.verdict.lost_ms_per_step) : Json()},
          {"share_percent", is_accounted ? Json(run.verdict.share_percent) : Json()},
          {"confidence", run.verdict.confidence}};
}

Json json_of(const Comparison& comparison, const ComparedRun& run, std::size_t group) {
  return {{"path", run.path},
          {"folder", run.folder},
          {"group", group},
          {"labels", run.labels},
          {"command", text_or_null(run.command)},
          {"nodes", run.nodes},
          {"complete", run.is_complete},
          {"exit_status", value_or_null(run.exit_status)},
          {"gpus", value_or_null(run.gpus)},
          {"steps",
           {{"count", run.steps.source ? Json(run.steps.count) : Json()},
            {"source", run.steps.source ? Json(name_of(*run.steps.source)) : Json()}}},
          {"figures", figures_of(comparison, run)},
          {"accounting_ms_per_step", accounts_document(run.accounting)},
          {"verdict", verdict_of(run)},
          {"remarks", run.remarks}};
}

// One line of CSV; texts are quoted, numbers are not.
class CsvLine {
 public:
  void text(const std::string& text) { put(cli::csv_text(text)); }
  void number(std::optional<double> value) { put(value ? fmt::format("{:.10g}", *value) : ""); }
  void count(std::size_t value) { put(fmt::format("{}", value)); }
  void print(std::ostream& out) const { out << line_ << "\r\n"; }

 private:
  void put(const std::string& field) {
    line_ += (is_first_ ? "" : ",") + field;
    is_first_ = false;
  }
  std::string line_;
  bool is_first_ = true;
};

void print_csv_head(std::ostream& out, const Comparison& comparison) {
  CsvLine line;
  for (const std::string& key : comparison.keys) {
    line.text(key);
  }
  line.text("runs");
  line.text("gpus");
  for (const Figure figure : figures_in(comparison)) {
    const std::string key = traits_of(figure).key;
    for (const char* part : {"", "_sd", "_low", "_high", "_min", "_max"}) {
      line.text(key + part);
    }
  }
  for (const char* title :
       {"verdict", "baseline", "change_percent", "change_low_percent", "change_high_percent",
        "test", "p", "p_corrected", "beyond_noise", "cause"}) {
    line.text(title);
  }
  line.print(out);
}

void add(CsvLine& line, const std::optional<math::Interval>& interval) {
  line.number(low_of(interval));
  line.number(high_of(interval));
}

void add(CsvLine& line, const std::optional<Estimate>& estimate) {
  const auto part = [&](double Estimate::* member) {
    return estimate ? std::optional((*estimate).*member) : std::nullopt;
  };
  line.number(part(&Estimate::mean));
  line.number(estimate ? estimate->sd : std::nullopt);
  add(line, estimate ? estimate->interval : std::nullopt);
  line.number(part(&Estimate::min));
  line.number(part(&Estimate::max));
}

void add(CsvLine& line, const Comparison& comparison, const Difference& difference) {
  line.text(comparison.groups[difference.baseline].name);
  line.number(difference.change_percent);
  add(line, difference.percent);
  line.text(difference.test ? texts_of(*difference.test).name : "");
  line.number(difference.p);
  line.number(difference.p_corrected);
  line.text(difference.is_beyond_noise ? "yes" : "no");
  line.text(difference.causes.empty() ? "" : name_of(difference.causes.front().account));
}

}  // namespace

cli::Json document_of(const cli::Context& context, const Shown& shown) {
  const Comparison& comparison = shown.comparison;
  Json document = cli::document(context, "chokepoint.comparison/1");
  document["of"] = comparison.is_of_probes ? "probes" : "runs";
  document["by"] = comparison.keys;
  document["metric"] = traits_of(comparison.metric).key;
  document["shown"] = shown.columns;
  document["confidence"] = comparison.confidence;
  document["least_percent"] = comparison.least_percent;
  document["unit"] = comparison.unit;
  document["figures"] = Json::array();
  for (const Figure figure : figures_in(comparison)) {
    document["figures"].push_back(json_of(traits_of(figure)));
  }
  document["groups"] = Json::array();
  document["runs"] = Json::array();
  document["regressions"] = Json::array();
  for (std::size_t at = 0; at < comparison.groups.size(); ++at) {
    const Group& group = comparison.groups[at];
    document["groups"].push_back(json_of(comparison, group));
    for (const std::size_t run : group.runs) {
      document["runs"].push_back(json_of(comparison, comparison.runs[run], at));
    }
    if (group.difference && group.difference->is_worse.value_or(false)) {
      document["regressions"].push_back(at);
    }
  }
  document["left_out"] = Json::array();
  for (const LeftOut& run : comparison.left_out) {
    document["left_out"].push_back({{"path", run.path}, {"reason", run.reason}});
  }
  document["remarks"] = remarks_of(shown);
  return document;
}

void print_csv(std::ostream& out, const Comparison& comparison) {
  print_csv_head(out, comparison);
  for (const Group& group : comparison.groups) {
    CsvLine line;
    for (const std::optional<std::string>& value : group.values) {
      line.text(value.value_or(""));
    }
    line.count(group.runs.size());
    line.number(group.gpus ? std::optional(static_cast<double>(*group.gpus)) : std::nullopt);
    for (const Figure figure : figures_in(comparison)) {
      add(line, group[figure]);
    }
    line.text(comparison.is_of_probes ? "" : name_of(group.verdict));
    if (group.difference) {
      add(line, comparison, *group.difference);
    } else {
      constexpr int kFieldsOfDifference = 9;
      for (int field = 0; field < kFieldsOfDifference; ++field) {
        line.text("");
      }
    }
    line.print(out);
  }
}

}  // namespace chokepoint::analysis
