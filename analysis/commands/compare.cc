#include "analysis/commands/compare.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <sstream>

#include "analysis/commands/compare_flags.h"
#include "analysis/commands/compare_runs.h"
#include "analysis/commands/judging.h"
#include "analysis/commands/written_file.h"
#include "base/cli/context.h"
#include "base/cli/text.h"
#include "base/page/page.h"

namespace chokepoint::analysis {
namespace {

struct Runs {
  std::vector<ComparedRun> read = {};
  std::vector<LeftOut> left_out = {};
  std::optional<Error> first = {};  // why the first one could not be read
};

// One that cannot be read does not hide the others.
Runs read_all(cli::Context& context, const std::vector<std::string>& arguments,
              const std::string& samples_label, const DiagnoseOptions& judging) {
  const std::vector<RunFolder> folders = run_folders(arguments);
  Runs runs;
  cli::Progress progress(context, "reading", folders.size());
  for (std::size_t at = 0; at < folders.size(); ++at) {
    progress.update(at, cli::printable(folders[at].path));
    Result<ComparedRun> run = read_run(folders[at], samples_label, judging);
    if (run) {
      runs.read.push_back(std::move(*run));
    } else {
      runs.first = runs.first ? runs.first : run.error();
      runs.left_out.push_back({.path = folders[at].path, .reason = run.error().reason});
      fmt::print(context.err, "chokepoint: compare: {}\n", cli::printable(describe(run.error())));
    }
  }
  return runs;
}

bool has_regression(const Comparison& comparison) {
  return std::ranges::any_of(comparison.groups, [](const Group& group) {
    return group.difference && group.difference->is_worse.value_or(false);
  });
}

}  // namespace

cli::Summary CompareCommand::summary() const {
  return {
      .name = "compare",
      .purpose = "many runs side by side: figures, scaling, and what differs beyond noise",
      .description =
          "Puts runs in rows: those whose labels agree are repetitions of each other, averaged "
          "with their spread. Shows sample throughput, scaling factor, network throughput and "
          "volume, step time and verdict of each, and marks where a row differs from its baseline "
          "by more than the noise between repetitions, with the part of the step that grew. A DIR "
          "is a run's folder, or a folder that holds runs' folders.\n\n"
          "Figures: samples_per_s, scaling_factor, network_mbps, volume_bytes, step_ms, "
          "median_step_ms, p99_step_ms, duration_s, epoch_s, lost_ms, gpu_memory_bytes.\n\n"
          "The exit code is 0 whatever is found; with --exit-code it is 3 where a row is worse "
          "than its baseline beyond noise.",
      .examples = {
          {"chokepoint compare runs", "all runs below runs, a row for each setup"},
          {"chokepoint compare runs/before runs/after --exit-code",
           "did a change make it slower? 3 is yes"},
          {"chokepoint compare runs --baseline setup=1x1 -o table.md", "a table for a ticket"},
          {"chokepoint compare runs --by method --metric duration_s --baseline method=LAN",
           "how long jobs took"},
          {"chokepoint compare runs --json", "the same for a script"}}};
}

void CompareCommand::define(cli::Flags& flags) {
  flags.positional("DIR", &folders_, "runs' folders, or folders that hold runs' folders");
  flags.group("What to compare")
      .option("by", &by_, "KEY,…", "what makes a row: labels, setup, nodes, gpus, folder …")
      .option("baseline", &baseline_, "KEY=VALUE|DIR", "what differences are taken against")
      .option("metric", &metric_, "FIGURE",
              "whose differences are tested: throughput where all runs tell it, else the step")
      .option("least", &least_percent_, "PERCENT", "differences below this are never marked")
      .option("samples-label", &samples_label_, "KEY",
              "the label that says how many samples a step of the job has")
      .toggle("exit-code", &exit_code_, "exit code 3 where a row is worse beyond noise")
      .group("What to show")
      .option("show", &show_, "COLUMN,…", "figures, runs, change, verdict")
      .option("bars", &bars_, "FIGURE", "a bar for each row below the table of text")
      .option("sort", &sort_, "KEY", "order rows by a key or a figure")
      .toggle("reverse", &is_reversed_, "the other way round")
      .choice("format", &format_, {"text", "markdown", "csv", "html"},
              "how; otherwise the file's ending tells")
      .option("output,o", &file_, "FILE", "where to; '-' is standard output");
  define_judging(flags, judging_);
}

Result<CompareOptions> CompareCommand::options(std::vector<std::string>& folders) const {
  CompareOptions options{.keys = split(by_),
                         .least_percent = least_percent_,
                         .sort = sort_,
                         .is_reversed = is_reversed_};
  const Result<std::optional<Figure>> metric = metric_of(metric_);
  const Result<Baseline> baseline = read_baseline(baseline_, folders);
  if (!metric || !baseline) {
    return fail(metric ? baseline.error() : metric.error());
  }
  options.metric = *metric;
  options.baseline = baseline->condition;
  if (!(least_percent_ >= 0)) {
    return fail(ErrorKind::Usage, "", "--least", "is no percentage", "give 0 or more");
  }
  if (!baseline->added.empty()) {
    folders.insert(folders.begin(), baseline->added);
  }
  options.by_folder = baseline->is_folder;
  return options;
}

Result<Shown> CompareCommand::shown(cli::Context& context) const {
  const std::vector<std::string> columns = split(show_);
  TRY(check_columns(columns));
  TRY(check_judging(judging_));
  TRY(const std::optional<Figure> bars, figure_named("--bars", bars_));
  std::vector<std::string> folders = folders_;
  TRY(const CompareOptions options, this->options(folders));
  Runs runs = read_all(context, folders, samples_label_, judging_);
  if (runs.read.empty()) {
    return fail(ErrorKind::NotFound, "", fmt::format("{}", cli::printable(folders.front())),
                "no run could be read", "give folders that 'chokepoint run --out' made");
  }
  TRY(Comparison comparison, compare(std::move(runs.read), options));
  comparison.left_out = std::move(runs.left_out);
  Shown shown{.comparison = std::move(comparison),
              .columns = columns,
              .are_keys_asked = !by_.empty(),
              .are_columns_asked = !columns.empty(),
              .bars = bars};
  if (shown.columns.empty()) {
    shown.columns = usual_columns(shown.comparison);
  }
  return shown;
}

Result<std::string> CompareCommand::written(const cli::Context& context, Form form,
                                            const Shown& shown) const {
  std::ostringstream out;
  cli::Terminal plain{.width = context.out_terminal.width};
  switch (form) {
    case Form::Markdown:
      print_markdown(out, shown);
      break;
    case Form::Csv:
      print_csv(out, shown.comparison);
      break;
    case Form::Json:
      out << document_of(context, shown).dump(2, ' ', false, cli::Json::error_handler_t::replace)
          << '\n';
      break;
    case Form::Html: {
      print_page(out, plain, shown);
      return page::html_of({.title = "Runs side by side",
                            .view = "comparison",
                            .document = document_of(context, shown),
                            .plain_text = out.str()});
    }
    case Form::Text:
      print_page(out, file_.empty() ? context.out_terminal : plain, shown);
      break;
  }
  return out.str();
}

Result<> CompareCommand::put(cli::Context& context, Form form, const Shown& shown) const {
  if (file_.empty() && context.json) {
    cli::print(context, document_of(context, shown));
    return {};
  }
  TRY(const std::string text, written(context, form, shown));
  if (file_.empty()) {
    context.out << text;
    return {};
  }
  if (const Result<> done = write_file(file_, text); !done) {
    return done;
  }
  if (context.json) {
    cli::print(context, document_of(context, shown));
  } else if (!context.quiet) {
    fmt::print(context.err, "chokepoint: compare: wrote {}\n", cli::printable(file_));
  }
  return {};
}

Result<cli::ExitCode> CompareCommand::run(cli::Context& context) {
  file_ = file_ == kStandardOutput ? "" : file_;
  TRY(const Form form, form_of(format_, file_));
  TRY(const Shown shown, this->shown(context));
  TRY(put(context, form, shown));
  return exit_code_ && has_regression(shown.comparison) ? cli::ExitCode::Found
                                                        : cli::ExitCode::Done;
}

}  // namespace chokepoint::analysis
