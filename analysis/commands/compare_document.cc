// The chokepoint.comparison/1 document, and the rows of a comparison as CSV.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "analysis/attribution/causes.h"
#include "analysis/commands/accounting_fields.h"
#include "analysis/commands/compare.h"
#include "analysis/commands/diagnose.h"
#include "analysis/compare/compare.h"
#include "analysis/load/run_summary.h"
#include "base/cli/table.h"
#include "base/json/codec.h"
#include "base/json/schema.h"

namespace chokepoint::analysis {
namespace {

enum class ComparedKind : std::uint8_t { Runs, Probes };

struct ShownFigure {
  std::string key = {};
  std::string title = {};
  std::string unit = {};
  std::optional<Better> better = {};
};

struct ShownDifference {
  Difference difference = {};
  std::string sentence = {};
};

struct ShownGroupVerdict {
  VerdictClass verdict = {};
  std::optional<double> lost_ms_per_step = {};
  std::map<std::string, std::size_t> classes = {};
};

struct ShownGroup {
  std::string name = {};
  std::map<std::string, std::optional<std::string>> keys = {};
  std::vector<std::size_t> runs = {};
  std::optional<std::int64_t> gpus = {};
  std::map<std::string, std::optional<Estimate>> figures = {};
  std::string scaling_reference = {};
  std::optional<Accounting> accounting = {};
  std::optional<ShownGroupVerdict> verdict = {};
  bool is_baseline = false;
  std::optional<ShownDifference> difference = {};
};

struct ShownSteps {
  std::optional<std::size_t> count = {};
  std::optional<record::StepSource> source = {};
};

struct ShownRunVerdict {
  VerdictClass verdict = {};
  std::optional<Cause> cause = {};
  std::string sentence = {};
  std::optional<double> lost_ms_per_step = {};
  std::optional<double> share_percent = {};
  double confidence = 0;
};

struct ShownRun {
  std::string path = {};
  std::string folder = {};
  std::size_t group = 0;
  std::map<std::string, std::string> labels = {};
  std::string command = {};
  std::vector<std::string> nodes = {};
  bool complete = false;
  std::optional<std::int64_t> exit_status = {};
  std::optional<std::int64_t> gpus = {};
  ShownSteps steps = {};
  std::map<std::string, std::optional<SourcedValue>> figures = {};
  std::optional<Accounting> accounting = {};
  std::optional<ShownRunVerdict> verdict = {};
  std::vector<std::string> remarks = {};
};

struct ShownComparison {
  ComparedKind of = ComparedKind::Runs;
  std::vector<std::string> by = {};
  std::string metric = {};
  std::vector<std::string> shown = {};
  double confidence = 0;
  double least_percent = 0;
  std::string unit = {};
  std::vector<ShownFigure> figures = {};
  std::vector<ShownGroup> groups = {};
  std::vector<ShownRun> runs = {};
  std::vector<std::size_t> regressions = {};
  std::vector<LeftOut> left_out = {};
  std::vector<std::string> remarks = {};
};

std::optional<double> low_of(const std::optional<math::Interval>& interval) {
  return interval ? std::optional(interval->low) : std::nullopt;
}

std::optional<double> high_of(const std::optional<math::Interval>& interval) {
  return interval ? std::optional(interval->high) : std::nullopt;
}

}  // namespace
}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct EnumNames<analysis::ComparedKind> {
  using enum analysis::ComparedKind;
  static constexpr std::string_view kWhat = "runs or probes";
  static constexpr auto kNames =
      std::to_array<EnumName<analysis::ComparedKind>>({{Runs, "runs"}, {Probes, "probes"}});
};

template <>
struct EnumNames<analysis::Better> {
  using enum analysis::Better;
  static constexpr std::string_view kWhat = "more or less";
  static constexpr auto kNames =
      std::to_array<EnumName<analysis::Better>>({{More, "more"}, {Less, "less"}});
};

template <>
struct Fields<analysis::ShownFigure> {
  using F = analysis::ShownFigure;
  static constexpr FieldList kList{
      field("key", &F::key, "as options and documents name it"),
      field("title", &F::title, "title of its column"),
      field("unit", &F::unit, "unit of its values"),
      field("better", &F::better, "which direction of a change is better; null: neither")};
};

template <>
struct Fields<analysis::Estimate> {
  using E = analysis::Estimate;
  static constexpr FieldList kList{
      field("mean", &E::mean, "mean of the row's runs"),
      field("sd", &E::sd, "standard deviation; null of one run").at_least(0),
      computed<E>(
          "low", [](const E& estimate) { return analysis::low_of(estimate.interval); },
          "lower bound of the mean's 95 % interval; null with one run"),
      computed<E>(
          "high", [](const E& estimate) { return analysis::high_of(estimate.interval); },
          "upper bound of the interval; null with one run"),
      field("min", &E::min, "smallest value of the runs"),
      field("max", &E::max, "largest value of the runs"),
      field("count", &E::count, "runs that have it")};
};

template <>
struct Fields<analysis::AccountChange> {
  using C = analysis::AccountChange;
  static constexpr FieldList kList{
      computed<C>(
          "account", [](const C& change) { return name_of(change.account); },
          "name of the account in accounting_ms_per_step"),
      computed<C>(
          "words", [](const C& change) { return words_of(change.account); },
          "the account in words"),
      field("ms_per_step", &C::ms_per_step, "milliseconds by which the account grew"),
      field("share_percent", &C::share_percent, "share of the step's difference in percent")};
};

template <>
struct Fields<analysis::FactChange> {
  using C = analysis::FactChange;
  static constexpr FieldList kList{
      field("hosts", &C::hosts, "hosts that have this same difference"),
      field("subject", &C::subject, "kernel, sysctl, nic eth0 …"),
      field("key", &C::key, "name of the setting; null: the subject itself was added or removed")
          .null_if_empty(),
      field("before", &C::before, "value before; null: not known"),
      field("after", &C::after, "value after; null: not known"),
      computed<C>(
          "sentence", [](const C& change) { return analysis::text_of(change); },
          "the change in words")};
};

template <>
struct Fields<analysis::Difference> {
  using D = analysis::Difference;
  static constexpr FieldList kList{
      field("baseline", &D::baseline, "number of the baseline's row"),
      field("before", &D::before, "the baseline's mean of the metric"),
      field("after", &D::after, "the row's mean of the metric"),
      field("change_percent", &D::change_percent, "change in percent of the baseline's mean"),
      computed<D>(
          "low_percent", [](const D& difference) { return analysis::low_of(difference.percent); },
          "lower bound of the change's 95 % interval"),
      computed<D>(
          "high_percent", [](const D& difference) { return analysis::high_of(difference.percent); },
          "upper bound of the interval"),
      field("test", &D::test, "statistical test; null: none was possible"),
      field("p", &D::p, "p-value of the test").between(0, 1),
      field("p_corrected", &D::p_corrected, "p-value corrected for the number of tests")
          .between(0, 1),
      field("why_no_test", &D::why_no_test, "why there was no test; null where there was one")
          .null_if_empty(),
      field("is_beyond_noise", &D::is_beyond_noise,
            "the test finds a change, and it is at least least_percent"),
      field("is_worse", &D::is_worse,
            "whether the change is for the worse; null where it is not beyond noise, or where "
            "neither direction is better"),
      field("causes", &D::causes,
            "accounts that changed together with the step, the largest first"),
      field("host_facts", &D::facts, "settings of the hosts that differ")};
};

template <>
struct Fields<analysis::ShownDifference> {
  using D = analysis::ShownDifference;
  static constexpr FieldList kList{spread(&D::difference),
                                   field("sentence", &D::sentence, "the difference in words")};
};

template <>
struct Fields<analysis::ShownGroupVerdict> {
  using V = analysis::ShownGroupVerdict;
  static constexpr FieldList kList{
      field("class", &V::verdict, "the class of verdict that most runs have"),
      field("lost_ms_per_step", &V::lost_ms_per_step, "mean of the runs").at_least(0),
      field("classes", &V::classes, "number of runs of each class")};
};

template <>
struct Fields<analysis::ShownGroup> {
  using G = analysis::ShownGroup;
  static constexpr FieldList kList{
      field("name", &G::name,
            "values of the keys that differ among the rows, such as `2x1 Tensor`; folders without "
            "their common beginning"),
      field("keys", &G::keys, "values of the keys in this row; null where its runs have none"),
      field("runs", &G::runs, "numbers of its runs in `runs`, from 0"),
      field("gpus", &G::gpus, "number of GPUs; null: the row's runs differ").at_least(0),
      field("figures", &G::figures, "figures by key; null where no run has one"),
      field("scaling_reference", &G::scaling_reference,
            "name of the row whose time is T_1 in the scaling efficiency")
          .null_if_empty(),
      field("accounting_ms_per_step", &G::accounting,
            "mean milliseconds of each account; null without steps"),
      field("verdict", &G::verdict, "the verdict that most runs have; null for probes"),
      field("is_baseline", &G::is_baseline, "whether another row is compared with this one"),
      field("difference", &G::difference,
            "difference from the row's baseline; null where it has none")};
};

template <>
struct Fields<analysis::ShownSteps> {
  using S = analysis::ShownSteps;
  static constexpr FieldList kList{
      field("count", &S::count, "number of steps; null: none were found"),
      field("source", &S::source, "how steps were found")};
};

template <>
struct Fields<analysis::SourcedValue> {
  using V = analysis::SourcedValue;
  static constexpr FieldList kList{field("value", &V::value, "value of the label for this run"),
                                   field("from", &V::from, "where the label comes from")};
};

template <>
struct Fields<analysis::ShownRunVerdict> {
  using V = analysis::ShownRunVerdict;
  static constexpr FieldList kList{
      field("class", &V::verdict, "class of the bottleneck"),
      field("cause", &V::cause, "the cause within the class"),
      field("sentence", &V::sentence, "the verdict in words"),
      field("lost_ms_per_step", &V::lost_ms_per_step,
            "milliseconds lost per step; null without steps")
          .at_least(0),
      field("share_percent", &V::share_percent, "share of the step in percent; null without steps")
          .between(0, 100),
      field("confidence", &V::confidence, "a calibrated frequency").between(0, 1)};
};

template <>
struct Fields<analysis::ShownRun> {
  using R = analysis::ShownRun;
  static constexpr FieldList kList{
      field("path", &R::path, "the run's folder, or the document's file"),
      field("folder", &R::folder, "the DIR that it came with"),
      field("group", &R::group, "number of its row, from 0"),
      field("labels", &R::labels, "labels of the run"),
      field("command", &R::command, "command line of the job").null_if_empty(),
      field("nodes", &R::nodes, "names of the nodes with a record"),
      field("complete", &R::complete, "every record has an end"),
      field("exit_status", &R::exit_status, "exit status of the job"),
      field("gpus", &R::gpus, "GPUs, or other processors, that the ranks compute on").at_least(0),
      field("steps", &R::steps, "number of steps recorded"),
      field("figures", &R::figures, "figures by key; null where one is not known"),
      field("accounting_ms_per_step", &R::accounting,
            "milliseconds of each account per step; null without steps"),
      field("verdict", &R::verdict, "the run's verdict; null for a probe"),
      field("remarks", &R::remarks, "what to know about the run, one line each")};
};

template <>
struct Fields<analysis::LeftOut> {
  using L = analysis::LeftOut;
  static constexpr FieldList kList{field("path", &L::path, "path of the run"),
                                   field("reason", &L::reason, "why it could not be read")};
};

template <>
struct Fields<analysis::ShownComparison> {
  using C = analysis::ShownComparison;
  static constexpr FieldList kList{
      field("of", &C::of, "what is compared: runs or probes"),
      field("by", &C::by, "the keys that make rows, in order"),
      field("metric", &C::metric, "the figure that the rows are compared by"),
      field("shown", &C::shown,
            "columns of the table, in order: figures, and `runs`, `change` or `verdict`"),
      field("confidence", &C::confidence, "confidence of the intervals and tests").between(0, 1),
      field("least_percent", &C::least_percent, "a smaller change is ignored").at_least(0),
      field("unit", &C::unit, "what a sample is: `samples`, or the label `unit`"),
      field("figures", &C::figures,
            "all figures of runs, in the table's order; for probes the figures that any document "
            "has"),
      field("groups", &C::groups, "the rows, in order"),
      field("runs", &C::runs, "runs in the order of the rows; for probes documents or trials"),
      field("regressions", &C::regressions,
            "numbers of the rows that are worse beyond noise, from 0"),
      field("left_out", &C::left_out, "runs that could not be read"),
      field("remarks", &C::remarks, "what to know about the comparison, one line each")};
};

}  // namespace chokepoint

namespace chokepoint::analysis {
namespace {

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

ShownFigure shown_figure(const FigureTraits& figure) {
  return {.key = figure.key,
          .title = figure.title,
          .unit = name_of_unit(figure),
          .better = figure.better == Better::Neither ? std::nullopt : std::optional(figure.better)};
}

ShownGroup shown_group(const Comparison& comparison, const Group& group) {
  ShownGroup shown{.name = group.name,
                   .runs = group.runs,
                   .gpus = group.gpus,
                   .accounting = group.accounting,
                   .is_baseline = group.is_baseline};
  for (std::size_t at = 0; at < comparison.keys.size(); ++at) {
    shown.keys[comparison.keys[at]] = group.values[at];
  }
  for (const Figure figure : figures_in(comparison)) {
    shown.figures[traits_of(figure).key] = group[figure];
  }
  if (group.scaling_reference) {
    shown.scaling_reference = comparison.groups[*group.scaling_reference].name;
  }
  if (!comparison.is_of_probes) {
    shown.verdict = {.verdict = group.verdict, .classes = group.verdicts};
    if (const std::optional<Estimate>& lost = group[Figure::LostMs]) {
      shown.verdict->lost_ms_per_step = lost->mean;
    }
  }
  if (group.difference) {
    shown.difference = {.difference = *group.difference,
                        .sentence = sentence_of(comparison, group)};
  }
  return shown;
}

ShownRunVerdict shown_verdict(const ComparedRun& run) {
  ShownRunVerdict shown{.verdict = run.verdict.verdict,
                        .sentence = run.sentence,
                        .confidence = run.verdict.confidence};
  if (run.verdict.cause != Cause::None) {
    shown.cause = run.verdict.cause;
  }
  if (run.accounting) {
    shown.lost_ms_per_step = run.verdict.lost_ms_per_step;
    shown.share_percent = run.verdict.share_percent;
  }
  return shown;
}

ShownRun shown_run(const Comparison& comparison, const ComparedRun& run, std::size_t group) {
  ShownRun shown{.path = run.path,
                 .folder = run.folder,
                 .group = group,
                 .labels = run.labels,
                 .command = run.command,
                 .nodes = run.nodes,
                 .complete = run.is_complete,
                 .exit_status = run.exit_status,
                 .gpus = run.gpus,
                 .accounting = run.accounting,
                 .remarks = run.remarks};
  if (run.steps.source) {
    shown.steps = {.count = run.steps.count, .source = run.steps.source};
  }
  for (const Figure each : figures_in(comparison)) {
    if (each != Figure::ScalingFactor) {
      shown.figures[traits_of(each).key] = run[each];
    }
  }
  if (!run.is_probe) {
    shown.verdict = shown_verdict(run);
  }
  return shown;
}

ShownComparison shown_comparison(const Shown& of) {
  const Comparison& comparison = of.comparison;
  ShownComparison shown{.of = comparison.is_of_probes ? ComparedKind::Probes : ComparedKind::Runs,
                        .by = comparison.keys,
                        .metric = traits_of(comparison.metric).key,
                        .shown = of.columns,
                        .confidence = comparison.confidence,
                        .least_percent = comparison.least_percent,
                        .unit = comparison.unit,
                        .left_out = comparison.left_out,
                        .remarks = remarks_of(of)};
  for (const Figure figure : figures_in(comparison)) {
    shown.figures.push_back(shown_figure(traits_of(figure)));
  }
  for (std::size_t at = 0; at < comparison.groups.size(); ++at) {
    const Group& group = comparison.groups[at];
    shown.groups.push_back(shown_group(comparison, group));
    for (const std::size_t run : group.runs) {
      shown.runs.push_back(shown_run(comparison, comparison.runs[run], at));
    }
    if (group.difference && group.difference->is_worse.value_or(false)) {
      shown.regressions.push_back(at);
    }
  }
  return shown;
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
  line.text(difference.test ? std::string(chokepoint::name_of(*difference.test)) : "");
  line.number(difference.p);
  line.number(difference.p_corrected);
  line.text(difference.is_beyond_noise ? "yes" : "no");
  line.text(difference.causes.empty() ? "" : name_of(difference.causes.front().account));
}

}  // namespace

cli::Json comparison_schema() {
  cli::Json schema = json::schema_of<ShownComparison>();
  cli::Json& parts = schema["properties"];
  std::vector<std::string> units;
  for (std::size_t at = 0; at < kFigures; ++at) {
    const std::string unit = name_of_unit(traits_of(figure_at(at)));
    if (std::ranges::find(units, unit) == units.end()) {
      units.push_back(unit);
    }
  }
  parts["figures"]["items"]["properties"]["unit"]["enum"] = units;
  return schema;
}

cli::Json document_of(const cli::Context& context, const Shown& shown) {
  cli::Json document = cli::document(context, "chokepoint.comparison/1");
  document.update(json::to_json(shown_comparison(shown)));
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
