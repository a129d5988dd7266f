#include "analysis/commands/compare.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <utility>

#include "analysis/commands/commands.h"
#include "analysis/commands/run_files.h"
#include "analysis/compare/keys.h"
#include "base/cli/context.h"
#include "base/cli/text.h"
#include "base/page/page.h"
#include "base/record/runs.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

// The parts between commas that are not empty.
std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= list.size();) {
    const std::size_t comma = std::min(list.find(',', from), list.size());
    if (comma > from) {
      parts.push_back(list.substr(from, comma - from));
    }
    from = comma + 1;
  }
  return parts;
}

// nullopt where `name` is empty. The Error names the option.
Result<std::optional<Figure>> figure_named(const std::string& option, const std::string& name) {
  const std::optional<Figure> figure = figure_of(name);
  if (!figure && !name.empty()) {
    return fail(ErrorKind::Usage, "", option + " " + name, "not a figure",
                "'chokepoint compare --help' names them");
  }
  return figure;
}

// nullopt where `name` is empty. Refuses the scaling factor: a row has one, its runs have none.
Result<std::optional<Figure>> metric_of(const std::string& name) {
  const Result<std::optional<Figure>> figure = figure_named("--metric", name);
  if (figure && *figure == Figure::ScalingFactor) {
    return fail(ErrorKind::Usage, "", "--metric " + name,
                "is a figure of rows, not of runs, so it cannot be tested", "take samples_per_s");
  }
  return figure;
}

Result<Condition> condition_of(const std::string& text) {
  Condition condition;
  for (const std::string& part : split(text)) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(ErrorKind::Usage, "", "--baseline " + text, "is neither a folder nor KEY=VALUE",
                  "for one: --baseline setup=1x1");
    }
    condition[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return condition;
}

struct Baseline {
  std::optional<Condition> condition = {};
  bool is_folder = false;  // then folders make rows
  std::string added = {};  // a folder that was not among the others
};

// From "KEY=VALUE,KEY=VALUE" or a folder, which may be one of those compared; empty: no baseline.
Result<Baseline> read_baseline(const std::string& text, const std::vector<std::string>& folders) {
  if (text.empty()) {
    return Baseline{};
  }
  const std::string path = path_of_run(text);
  const std::string name = name_of_folder(path);
  const bool is_given = std::ranges::any_of(
      folders, [&](const std::string& folder) { return name_of_folder(folder) == name; });
  std::error_code error;
  if (is_given || fs::exists(name, error)) {
    return Baseline{
        .condition = Condition{{"folder", name}}, .is_folder = true, .added = is_given ? "" : path};
  }
  TRY(Condition condition, condition_of(text));
  return Baseline{.condition = std::move(condition)};
}

enum class Form { Text, Markdown, Csv, Html, Json };

struct FormName {
  std::string_view format;  // as --format names it
  std::string_view ending;  // of a file's name
  Form form;
};

constexpr std::array kForms{
    FormName{"text", ".txt", Form::Text}, FormName{"markdown", ".md", Form::Markdown},
    FormName{"csv", ".csv", Form::Csv},   FormName{"html", ".html", Form::Html},
    FormName{"html", ".htm", Form::Html}, FormName{"json", ".json", Form::Json}};

// By --format, else by the file's ending, else text. An Error where the ending is not known.
Result<Form> form_of(const std::string& format, const std::string& file) {
  if (format.empty() && file.empty()) {
    return Form::Text;
  }
  const std::string ending = fs::path(file).extension().string();
  const auto* const found = std::ranges::find_if(kForms, [&](const FormName& name) {
    return format.empty() ? name.ending == ending : name.format == format;
  });
  return found != kForms.end()
             ? Result<Form>(found->form)
             : fail(ErrorKind::Usage, "", "-o " + file, "the format is not known from the name",
                    "end it with .html, .md, .csv, .json or .txt, or give --format");
}

struct Runs {
  std::vector<ComparedRun> read = {};
  std::vector<LeftOut> left_out = {};
};

Result<std::vector<ComparedRun>> read_place(const RunFolder& place, bool is_of_probes,
                                            const RunReading& reading,
                                            const cli::Context& context) {
  if (is_of_probes) {
    return read_probes(place);
  }
  TRY(ComparedRun run, read_run(place, reading, context));
  return std::vector{std::move(run)};
}

// One that cannot be read does not hide the others.
Result<Runs> read_all(cli::Context& context, const std::vector<std::string>& arguments,
                      const RunReading& reading) {
  TRY(const ComparedPlaces sources, compared_places(arguments));
  Runs runs;
  cli::Progress progress(context, "reading", sources.places.size());
  for (std::size_t at = 0; at < sources.places.size(); ++at) {
    const RunFolder& place = sources.places[at];
    progress.update(at, cli::printable(place.path));
    Result<std::vector<ComparedRun>> read = read_place(place, sources.are_probes, reading, context);
    if (read) {
      std::ranges::move(*read, std::back_inserter(runs.read));
    } else {
      runs.left_out.push_back({.path = place.path, .reason = read.error().reason});
      fmt::print(context.err, "chokepoint: compare: {}\n", cli::printable(describe(read.error())));
    }
  }
  return runs;
}

bool has_regression(const Comparison& comparison) {
  return std::ranges::any_of(comparison.groups, [](const Group& group) {
    return group.difference && group.difference->is_worse.value_or(false);
  });
}

// An exit code of 0 says that nothing is worse, which nobody knows of what was not tested.
Result<> check_tested(const Comparison& comparison) {
  const auto untested = std::ranges::find_if(comparison.groups, [](const Group& group) {
    return group.difference && !group.difference->why_no_test.empty();
  });
  if (untested == comparison.groups.end()) {
    return {};
  }
  return fail(ErrorKind::NotFound, "--exit-code", untested->name,
              "not tested: " + untested->difference->why_no_test,
              "record longer runs, or several of each with one --label");
}

Result<> check_read(const Comparison& comparison) {
  if (comparison.left_out.empty()) {
    return {};
  }
  const LeftOut& first = comparison.left_out.front();
  return fail(ErrorKind::NotFound, "--exit-code", first.path, "not compared: " + first.reason,
              "leave it out of the command, or bring its record back");
}

class CompareCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<CompareOptions> options(std::vector<std::string>& folders) const;
  Result<Shown> shown(cli::Context& context) const;
  Result<std::string> written(const cli::Context& context, Form form, const Shown& shown) const;
  Result<> put(cli::Context& context, Form form, const Shown& shown) const;

  std::vector<std::string> folders_;
  std::string by_;
  std::string baseline_;
  std::string metric_;
  std::string show_;
  std::string bars_;
  std::string sort_;
  bool is_reversed_ = false;
  double least_percent_ = 1;
  std::string format_;
  std::string file_;
  bool exit_code_ = false;
  RunReading reading_;
};

cli::Summary CompareCommand::summary() const {
  return {.name = "compare",
          .purpose = "many runs side by side: figures, scaling, and significant differences",
          .description =
              "Shows one row per setup. Runs with the same labels are repetitions and are "
              "averaged, with their spread. Each row has sample throughput, scaling factor, "
              "network throughput and volume, step time and verdict. Significant differences from "
              "the baseline row are marked, with the part of the step that grew. A DIR is a run's "
              "folder, or a folder that contains runs' folders.\n\n"
              "Figures: samples_per_s, scaling_factor, network_mbps, volume_bytes, step_ms, "
              "median_step_ms, p99_step_ms, duration_s, epoch_s, lost_ms, input_ms, storage_ms, "
              "gpu_memory_bytes, compute_ms, exposed_ms, retransmits, rtt_ms, energy_j.\n\n"
              "The exit code is 0 for any result; with --exit-code it is 3 if a row is "
              "significantly worse than its baseline.",
          .examples = {
              {"chokepoint compare runs", "all runs below runs, a row for each setup"},
              {"chokepoint compare runs/before runs/after --exit-code",
               "did a change make it slower? exit code 3: yes"},
              {"chokepoint compare runs --baseline setup=1x1 -o table.md", "a table for a ticket"},
              {"chokepoint compare runs --by method --metric duration_s --baseline method=LAN",
               "how long jobs took"},
              {"chokepoint compare runs --json", "the same for a script"}}};
}

void CompareCommand::define(cli::Flags& flags) {
  flags
      .positional("DIR", &folders_,
                  "runs' folders or their names in chokepoint-runs, or folders that hold runs' "
                  "folders; default: chokepoint-runs",
                  false)
      .a_run();
  flags.group("What to compare")
      .option("by", &by_, "KEY,…",
              "keys that define a row: labels, setup, nodes, gpus, date, folder …")
      .option("baseline", &baseline_, "KEY=VALUE|DIR", "the row that others are compared with")
      .option(
          "metric", &metric_, "FIGURE",
          "figure to test for differences; default: throughput if all runs have it, else the step")
      .percent("least", &least_percent_, "never mark differences below this")
      .option("samples-label", &reading_.samples_label, "KEY",
              "label with the number of samples per step of the job")
      .toggle("exit-code", &exit_code_,
              "exit code 3 if a row is significantly worse; 1 if one could not be tested")
      .group("What to show")
      .option("show", &show_, "COLUMN,…", "figures, runs, change, verdict")
      .option("bars", &bars_, "FIGURE", "draw a bar for each row below the text table")
      .option("sort", &sort_, "KEY", "order rows by a key or a figure")
      .toggle("reverse", &is_reversed_, "reverse the order")
      .choice("format", &format_, {"text", "markdown", "csv", "html"},
              "output format; default: from the file's extension")
      .option("output,o", &file_, "FILE", "output file; '-' is standard output");
  define_judging(flags, reading_.judging);
  history::define_to_read(flags, reading_.history);
}

Result<CompareOptions> CompareCommand::options(std::vector<std::string>& folders) const {
  CompareOptions options{.keys = split(by_),
                         .least_percent = least_percent_,
                         .sort = sort_,
                         .is_reversed = is_reversed_};
  TRY(options.metric, metric_of(metric_));
  TRY(const Baseline baseline, read_baseline(baseline_, folders));
  options.baseline = baseline.condition;
  if (!(least_percent_ >= 0)) {
    return fail(ErrorKind::Usage, "", "--least", "not a percentage", "give 0 or more");
  }
  if (!baseline.added.empty()) {
    folders.insert(folders.begin(), baseline.added);
  }
  options.by_folder = baseline.is_folder;
  return options;
}

Result<Shown> CompareCommand::shown(cli::Context& context) const {
  const std::vector<std::string> columns = split(show_);
  TRY(check_columns(columns));
  TRY(check_judging(reading_.judging));
  TRY(const std::optional<Figure> bars, figure_named("--bars", bars_));
  std::vector<std::string> folders = folders_;
  TRY(const CompareOptions options, this->options(folders));
  TRY(Runs runs, read_all(context, folders, reading_));
  if (runs.read.empty()) {
    return fail(
        ErrorKind::NotFound, "", cli::printable(folders.front()), "no run could be read",
        "give folders that 'chokepoint run --out' made, or what probes printed with --json");
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
      return page::html_of(
          {.title = shown.comparison.is_of_probes ? "Probes side by side" : "Runs side by side",
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
  TRY(write_file(file_, text));
  if (context.json) {
    cli::print(context, document_of(context, shown));
  } else if (!context.quiet) {
    fmt::print(context.err, "chokepoint: compare: wrote {}\n", cli::printable(file_));
  }
  return {};
}

Result<cli::ExitCode> CompareCommand::run(cli::Context& context) {
  file_ = file_ == kStandardOutput ? "" : file_;
  if (folders_.empty() && record::runs_below(record::kRunsFolder).empty()) {
    return no_run_here();
  }
  if (folders_.empty()) {
    folders_.emplace_back(record::kRunsFolder);
  }
  std::ranges::transform(folders_, folders_.begin(), path_of_run);
  TRY(const Form form, form_of(format_, file_));
  TRY(const Shown shown, this->shown(context));
  TRY(put(context, form, shown));
  if (!exit_code_) {
    return cli::ExitCode::Done;
  }
  if (has_regression(shown.comparison)) {
    return cli::ExitCode::Found;
  }
  TRY(check_read(shown.comparison));
  TRY(check_tested(shown.comparison));
  return cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory compare_command() { return cli::command<CompareCommand>(); }

}  // namespace chokepoint::analysis
