// predict --check: what is predicted of recorded runs beside what was measured of them.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <array>
#include <tuple>
#include <utility>

#include "analysis/attribution/profile.h"
#include "analysis/commands/compare.h"
#include "analysis/commands/predict.h"
#include "analysis/commands/run_files.h"
#include "analysis/load/run_summary.h"
#include "analysis/predict/predict.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/json/codec.h"
#include "base/json/schema.h"
#include "base/math/tcp_rate.h"

namespace chokepoint::analysis {
namespace {

// What predicts.
enum class CheckedFrom : std::uint8_t { Itself, Run, Figures };

struct CheckedRun {
  std::string run = {};
  std::string trouble = {};  // why it could not be checked; else empty
  std::optional<CheckedStep> step = {};
  std::optional<Beside> exposed_ms = {};
  std::optional<Beside> volume_bytes = {};  // frames of all hosts, of the whole run
  std::optional<Beside> energy_j = {};      // of a step
};

struct PredictionCheck {
  CheckedFrom predicted_from = CheckedFrom::Itself;
  std::string from = {};
  std::vector<CheckedRun> runs = {};
  CheckFigures figures = {};
};

struct CheckSource {
  CheckedFrom name = CheckedFrom::Itself;
  std::optional<RecordedJob> from = {};
};

}  // namespace
}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct EnumNames<analysis::CheckedFrom> {
  using enum analysis::CheckedFrom;
  static constexpr std::string_view kWhat = "itself, run or figures";
  static constexpr auto kNames = std::to_array<EnumName<analysis::CheckedFrom>>(
      {{Itself, "itself"}, {Run, "run"}, {Figures, "figures"}});
};

template <>
struct Fields<analysis::Beside> {
  using B = analysis::Beside;
  static constexpr FieldList kList{
      field("predicted", &B::predicted, "predicted by the models").at_least(0),
      field("measured", &B::measured, "measured in the run").at_least(0),
      computed<B>(
          "error_percent", [](const B& beside) { return beside.error_percent(); },
          "error of the prediction in percent of the measured value; null: nothing was measured")};
};

template <>
struct Fields<analysis::CheckedStep> {
  using S = analysis::CheckedStep;
  static constexpr FieldList kList{
      spread(&S::step_ms), field("low", &S::low_ms, "lower bound of the prediction").at_least(0),
      field("high", &S::high_ms, "upper bound of the prediction").at_least(0)};
};

template <>
struct Fields<analysis::CheckedRun> {
  using R = analysis::CheckedRun;
  static constexpr FieldList kList{
      field("run", &R::run, "folder of the run"),
      field("trouble", &R::trouble, "why the run could not be checked").null_if_empty(),
      field("step_ms", &R::step, "time of a step; null where `trouble` is set"),
      field("exposed_ms", &R::exposed_ms, "communication that computing does not hide"),
      field("volume_bytes", &R::volume_bytes,
            "frames that all hosts sent in the run; null: on one host, or not recorded"),
      field("energy_j_per_step", &R::energy_j,
            "energy of all GPUs; null: their power is not known")};
};

template <>
struct Fields<analysis::CheckFigures> {
  using F = analysis::CheckFigures;
  static constexpr FieldList kList{
      field("checked", &F::count, "number of runs without `trouble`"),
      field("median_error_percent", &F::median_error_percent,
            "median error of the step time, without sign; null without a run")
          .at_least(0),
      field("p90_error_percent", &F::p90_error_percent,
            "the same error, 90 % of the runs have no larger one; null without a run")
          .at_least(0),
      field("within_percent", &F::within_percent, "share of the runs measured between low and high")
          .between(0, 100)};
};

template <>
struct Fields<analysis::PredictionCheck> {
  using C = analysis::PredictionCheck;
  static constexpr FieldList kList{
      field("predicted_from", &C::predicted_from,
            "each run itself by the models alone, the run of `from`, or figures"),
      field("from", &C::from, "a run's folder").null_if_empty(),
      field("runs", &C::runs, "runs in the order in which they were given"), spread(&C::figures)};
};

}  // namespace chokepoint

namespace chokepoint::analysis {
namespace {

Result<CheckSource> source_of(const PredictFlags& given) {
  if (given.from.empty()) {
    return CheckSource{.name = has_figures(given) ? CheckedFrom::Figures : CheckedFrom::Itself};
  }
  TRY(refuse_figures(given));
  TRY(RecordedJob job, recorded_job(given.from));
  return CheckSource{.name = CheckedFrom::Run, .from = std::move(job)};
}

// As many ranks as the run had, where the flags do not say.
PredictFlags with_ranks_of(PredictFlags given, const JobProfile& run) {
  if (given.ranks.empty()) {
    given.ranks = std::to_string(run.ranks);
    if (given.nodes.empty()) given.nodes = std::to_string(run.nodes);
  }
  return given;
}

struct Asked {
  JobProfile profile = {};
  Target target = {};
};

Result<Asked> asked_of(const CheckSource& source, const PredictFlags& given,
                       const JobProfile& run) {
  TRY(Target target, target_of(given));
  if (source.from) {
    TRY(change(target, given, source.from->profile, source.from->labels));
    return Asked{.profile = source.from->profile, .target = on_network_of(run, std::move(target))};
  }
  target = on_network_of(run, std::move(target));
  if (source.name == CheckedFrom::Itself) {
    return Asked{.profile = without_outcome(run), .target = std::move(target)};
  }
  TRY(const Figures figures, figures_of(with_ranks_of(given, run)));
  TRY(JobProfile profile, profile_from(figures));
  target.ranks = profile.ranks;
  target.nodes = profile.nodes;
  return Asked{.profile = std::move(profile), .target = std::move(target)};
}

CheckedRun beside(const std::string& name, const RecordedJob& run, const Asked& asked) {
  const Prediction told = predict(asked.profile, asked.target);
  CheckedRun checked{
      .run = name,
      .step = CheckedStep{.step_ms = {.predicted = told.step_ms, .measured = run.profile.step_ms},
                          .low_ms = told.low_ms,
                          .high_ms = told.high_ms},
      .exposed_ms = Beside{.predicted = told.exposed_ms, .measured = run.profile.exposed_ms}};
  const Ranks ranks = ranks_of(asked.profile, asked.target);
  if (run.volume_bytes && run.profile.steps && ranks.hosts() > 1) {
    const Load sent = load_of(job_of(asked.profile, asked.target), asked.target.algorithm, ranks);
    checked.volume_bytes =
        Beside{.predicted = sent.network * math::kFrameBytes / math::kSegmentBytes *
                            static_cast<double>(*run.profile.steps),
               .measured = *run.volume_bytes};
  }
  const auto measured_j = energy_j(run.profile, ranks.count, run.profile.step_ms);
  if (told.energy_j && measured_j) {
    checked.energy_j = Beside{.predicted = *told.energy_j, .measured = *measured_j};
  }
  return checked;
}

Result<CheckedRun> check(const CheckSource& source, const PredictFlags& given,
                         const std::string& folder) {
  TRY(const RecordedJob run, recorded_job(folder));
  TRY(const Asked asked, asked_of(source, given, run.profile));
  const PathProfile& path = asked.target.path;
  if (!path.rate_mbps && !path.payload_mbps && !asked.target.curve) {
    return fail(ErrorKind::NotFound, "", folder, "the rate of its link is not in its record",
                "give --link RATE");
  }
  return beside(folder, run, asked);
}

std::string shown_error(const Beside& beside) {
  const auto error = beside.error_percent();
  return error ? fmt::format("{:+.1f} %", *error) : "–";
}

std::string shown_step(double ms) { return fmt::format("{:.2f} ms", ms); }

struct CheckLine {
  const char* name;
  std::string predicted;
  std::string measured;
  std::string error;
};

std::vector<CheckLine> lines_of(const CheckedRun& run) {
  const auto line = [](const char* name, const Beside& beside, const auto& shown) {
    return CheckLine{name, shown(beside.predicted), shown(beside.measured), shown_error(beside)};
  };
  std::vector<CheckLine> lines{line("step", run.step->step_ms, shown_step),
                               line("exposed", *run.exposed_ms, shown_step)};
  if (run.volume_bytes) lines.push_back(line("volume", *run.volume_bytes, math::format_bytes));
  if (run.energy_j) {
    lines.push_back(line("energy a step", *run.energy_j,
                         [](double joules) { return fmt::format("{:.1f} J", joules); }));
  }
  return lines;
}

// Of a single run all that is known, of several their steps.
void print_one(const cli::Context& context, const CheckedRun& run) {
  using cli::Align;
  cli::Table table(
      {{""}, {"predicted", Align::Right}, {"measured", Align::Right}, {"error", Align::Right}});
  for (CheckLine& line : lines_of(run)) {
    table.add(
        {line.name, std::move(line.predicted), std::move(line.measured), std::move(line.error)});
  }
  table.print(context.out, context.out_terminal);
  fmt::print(context.out, "\nthe step was predicted between {} and {}\n",
             shown_step(run.step->low_ms), shown_step(run.step->high_ms));
}

void print_many(const cli::Context& context, const std::vector<CheckedRun>& runs) {
  using cli::Align;
  cli::Table table({{"run"},
                    {"predicted", Align::Right},
                    {"low", Align::Right},
                    {"high", Align::Right},
                    {"measured", Align::Right},
                    {"error", Align::Right}});
  for (const CheckedRun& run : runs) {
    if (!run.step) continue;
    const CheckedStep& step = *run.step;
    table.add({run.run, shown_step(step.step_ms.predicted), shown_step(step.low_ms),
               shown_step(step.high_ms), shown_step(step.step_ms.measured),
               shown_error(step.step_ms)});
  }
  table.print(context.out, context.out_terminal);
}

CheckFigures figures_of(const std::vector<CheckedRun>& runs) {
  std::vector<CheckedStep> steps;
  for (const CheckedRun& run : runs) {
    if (run.step) steps.push_back(*run.step);
  }
  return figures_of(steps);
}

void print_checks(const cli::Context& context, const PredictionCheck& check) {
  const CheckFigures& figures = check.figures;
  if (check.runs.size() == 1) {
    print_one(context, check.runs.front());
    return;
  }
  print_many(context, check.runs);
  fmt::print(context.out,
             "\n{} runs: error {:.1f} % in the median, 90 % within {:.1f} %; {:.0f} % of the runs "
             "between low and high\n",
             figures.count, figures.median_error_percent.value_or(0),
             figures.p90_error_percent.value_or(0), figures.within_percent.value_or(0));
}

// One that cannot be checked does not hide the others.
std::vector<CheckedRun> check_all(cli::Context& context, const PredictFlags& given,
                                  const CheckSource& source, const std::vector<RunFolder>& places) {
  std::vector<CheckedRun> runs;
  for (const RunFolder& place : places) {
    Result<CheckedRun> run = check(source, given, place.path);
    if (!run) {
      fmt::print(context.err, "chokepoint: predict: {}\n", cli::printable(describe(run.error())));
      runs.push_back({.run = place.path, .trouble = run.error().reason});
      continue;
    }
    runs.push_back(std::move(*run));
  }
  return runs;
}

}  // namespace

cli::Json prediction_check_schema() { return json::schema_of<PredictionCheck>(); }

Result<RecordedJob> recorded_job(const std::string& given) {
  const std::string folder = path_of_run(given);
  TRY(record::Run records, records_of(folder));
  const RunData data = load_run(records);
  TRY(MeasuredJob job, measured_job_of(data));
  return RecordedJob{.profile = std::move(job.profile),
                     .labels = data.nodes.front().labels,
                     .volume_bytes = summarize(records, {.count_rows = false}).volume.sent_bytes,
                     .replay = std::move(job.replay)};
}

Result<cli::ExitCode> check_runs(cli::Context& context, const PredictFlags& given) {
  if (given.checked.empty()) {
    return fail(ErrorKind::Usage, "", "--check", "names no run",
                "give folders that 'chokepoint run --out' made");
  }
  TRY(refuse_unchecked(given));
  TRY(const CheckSource source, source_of(given));
  TRY(const ComparedPlaces places, compared_places(given.checked));
  if (places.are_probes) {
    return fail(ErrorKind::Usage, "--check", given.checked.front(), "holds probes, and no run",
                "give folders that 'chokepoint run --out' made");
  }
  PredictionCheck check{.predicted_from = source.name,
                        .from = given.from,
                        .runs = check_all(context, given, source, places.places)};
  check.figures = figures_of(check.runs);
  const bool has_any = check.figures.count > 0;
  if (context.json) {
    cli::Json document = cli::document(context, "chokepoint.prediction.check/1");
    document.update(json::to_json(check));
    cli::print(context, document);
  } else if (has_any) {
    print_checks(context, check);
  }
  return has_any ? cli::ExitCode::Done : cli::ExitCode::Failed;
}

}  // namespace chokepoint::analysis
