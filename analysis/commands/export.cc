// chokepoint export: a run's records for the tools that people use already.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "analysis/attribution/diagnose.h"
#include "analysis/commands/commands.h"
#include "analysis/commands/run_files.h"
#include "analysis/export/export_document.h"
#include "analysis/export/formats.h"
#include "analysis/export/perfetto/perfetto.h"
#include "base/cli/context.h"
#include "base/cli/output.h"
#include "base/cli/text.h"
#include "base/json/codec.h"
#include "base/math/units.h"
#include "base/otlp/otlp.h"
#include "base/sys/signals.h"

namespace chokepoint::analysis {
namespace {

struct ExportOutcome {
  Exported exported = {};
  std::string taken = {};      // by a collector: "the figures and 30 spans"
  std::uint64_t left_out = 0;  // see TraceFigures
};

// To a collector, which has taken each document or is named in an Error.
Result<ExportOutcome> send_otlp(const std::string& url, ExportedRun& run,
                                const DiagnoseOptions& options, const cli::Context& context) {
  constexpr std::chrono::seconds kPatience{10};
  TRY(const otlp::Collector collector, otlp::Collector::of(url));
  Result<> sent;
  ExportOutcome outcome;
  outcome.exported.events =
      write_otlp(run, diagnose(run.data(), options), context.version, otlp::Form::Protobuf,
                 [&](otlp::Signal signal, const std::string& document) {
                   if (!collector.takes(signal)) {
                     return signal == otlp::Signal::Metrics && !run.is_stopped();
                   }
                   sent = collector.send(signal, document, net::Deadline::of(kPatience));
                   return sent.has_value() && !run.is_stopped();
                 });
  if (run.is_stopped()) {
    return fail(ErrorKind::Interrupted, "", url, "stopped", "a part was sent");
  }
  TRY(std::move(sent));
  if (!collector.takes(otlp::Signal::Traces)) {
    outcome.exported.events.reset();
    outcome.taken = "the figures";
  } else {
    outcome.taken =
        fmt::format("{}{} spans", collector.takes(otlp::Signal::Metrics) ? "the figures and " : "",
                    *outcome.exported.events);
  }
  return outcome;
}

// A browser holds a trace of this size in memory without effort; of a larger one a part is advised.
constexpr double kLargeTraceBytes = 500e6;

// `place` is empty for standard output. An Error of kind Interrupted where the run was stopped.
Result<ExportOutcome> export_to(ExportFormat format, const std::string& place, ExportedRun& run,
                                const DiagnoseOptions& options, const cli::Context& context) {
  ExportOutcome outcome;
  Exported& exported = outcome.exported;
  if (format == ExportFormat::Csv) {
    TRY(exported.files, write_csv(run, place));
    return outcome;
  }
  TRY(check_no_record(place));
  TRY(std::unique_ptr<cli::Output> out,
      place.empty()
          ? Result<std::unique_ptr<cli::Output>>(cli::open_stream(context.out, "standard output"))
          : cli::open_file(place));
  if (format == ExportFormat::Perfetto) {
    const TraceFigures figures = write_perfetto(run, *out);
    exported.events = figures.events;
    outcome.left_out = figures.left_out;
  } else if (format == ExportFormat::Otlp) {
    exported.events =
        write_otlp(run, diagnose(run.data(), options), context.version, otlp::Form::Json,
                   [&](otlp::Signal /*signal*/, const std::string& document) {
                     out->write(document + "\n");
                     return !run.is_stopped();
                   });
  } else if (format == ExportFormat::Json) {
    write_json(run, cli::document(context, Fields<ExportDocument>::kSchema), *out);
  } else {
    out->write(prometheus_text(run, diagnose(run.data(), options)));
  }
  if (run.is_stopped()) {
    return fail(ErrorKind::Interrupted, "", place, "stopped",
                place.empty() ? "" : "nothing was written");
  }
  TRY(out->finish());
  if (!place.empty()) {
    exported.files.push_back({place, out->bytes()});
  }
  return outcome;
}

// One line for people: what was written where.
void print_written(const cli::Context& context, const ExportedRun& run, const Exported& exported) {
  double bytes = 0;
  for (const WrittenFile& file : exported.files) {
    bytes += static_cast<double>(file.bytes);
  }
  const std::string place = exported.files.size() == 1
                                ? exported.files.front().path.string()
                                : fmt::format("{} files in {}", exported.files.size(),
                                              exported.files.front().path.parent_path().string());
  fmt::print(context.err, "{}: {}, {} rows", place, math::format_bytes(bytes), run.rows());
  if (exported.events) {
    const bool is_otlp = place.ends_with(".jsonl");
    fmt::print(context.err, ", {} events; {}", *exported.events,
               is_otlp ? "a document a line, for a collector's otlpjsonfile receiver"
               : bytes > kLargeTraceBytes ? "large for a browser: --since and --until shorten it"
                                          : "open it at https://ui.perfetto.dev");
  }
  context.err << '\n';
}

void warn(const cli::Context& context, const ExportedRun& run, const ExportOutcome& outcome) {
  for (const Error& error : run.troubles()) {
    fmt::print(context.err, "chokepoint: export: {}\n",
               cli::printable(describe(without_operation(error))));
  }
  if (outcome.left_out > 0) {
    fmt::print(context.err,
               "chokepoint: export: {} spans were left out: too many overlap each other\n",
               outcome.left_out);
  }
}

// CSV is a folder, whose name says nothing.
std::string format_named_by(const std::string& output) {
  const std::string ending = std::filesystem::path(output).extension();
  return ending == ".json"      ? "json"
         : ending == ".prom"    ? "prometheus"
         : ending == ".pftrace" ? "perfetto"
         : ending == ".jsonl"   ? "otlp"
                                : "";
}

class ExportCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<> check(const cli::Context& context) const;
  std::optional<record::Span> wanted() const;

  std::string folder_;
  std::string to_;
  std::string output_;
  std::string send_;
  std::chrono::nanoseconds from_ = {};   // 0: from its beginning
  std::chrono::nanoseconds until_ = {};  // 0: to its end
  DiagnoseOptions options_;
};

cli::Summary ExportCommand::summary() const {
  return {
      .name = "export",
      .purpose = "a run's records for other tools",
      .description =
          "Writes the complete records of a run's nodes, on one clock, for other tools: 'perfetto' "
          "is a trace for ui.perfetto.dev, with one process per rank and one per node; "
          "'prometheus' the final figures and the verdict for node_exporter's textfile collector; "
          "'csv' a folder with one file per table; 'json' one document; 'otlp' the final figures "
          "and a trace with a span of each step for OpenTelemetry, as a file of OTLP/JSON or, with "
          "--send, to a collector. The records are not changed.\n\n"
          "A file gets its name when it is complete: an export that fails or is stopped leaves no "
          "file. Without --output all formats but CSV go to standard output.",
      .examples = {{"chokepoint export runs/a --to perfetto -o a.pftrace",
                    "then ui.perfetto.dev, 'Open trace file'"},
                   {"chokepoint export runs/a --to perfetto --since 60s --until 90s -o a.pftrace",
                    "half a minute of it"},
                   {"chokepoint export runs/a --to csv -o a-csv", "a folder of tables"},
                   {"chokepoint export runs/a --to prometheus -o /var/lib/node_exporter/a.prom",
                    "the final figures, for node_exporter"},
                   {"chokepoint export runs/a --send http://127.0.0.1:4318",
                    "figures and steps, to a collector of OpenTelemetry"},
                   {"chokepoint export runs/a --to json | jq '.nodes[].node'", "for a script"}}};
}

void ExportCommand::define(cli::Flags& flags) {
  flags
      .positional(
          "DIR", &folder_,
          "the run's folder or its name in chokepoint-runs, or one node's .db file; default: "
          "the newest run here",
          false)
      .a_run();
  flags.group("What to write")
      .choice(
          "to", &to_, {"perfetto", "prometheus", "csv", "json", "otlp"},
          "output format; without it that of --output's ending, .pftrace, .prom, .json or .jsonl")
      .option("output,o", &output_, "FILE", "output file; a folder for CSV")
      .option(
          "send", &send_, "URL",
          "send it to a collector of OpenTelemetry that takes OTLP over HTTP; implies --to otlp")
      .group("A part of the run")
      .option("since", &from_, "TIME",
              "skip samples and events before this time after the job's start")
      .formerly("from")
      .option("until", &until_, "TIME",
              "skip samples and events after this time after the job's start");
  define_judging(flags, options_);
}

Result<> ExportCommand::check(const cli::Context& context) const {
  if (to_.empty()) {
    return fail(ErrorKind::Usage, "", "--to", "missing",
                "give perfetto, prometheus, csv, json or otlp, or a file with -o that ends with "
                ".pftrace, .prom, .json or .jsonl");
  }
  if (!send_.empty()) {
    if (to_ != "otlp" || !output_.empty()) {
      return fail(ErrorKind::Usage, "", "--send",
                  "is for OpenTelemetry, and takes the file's place",
                  "give it without --to and -o");
    }
    TRY(otlp::Collector::of(send_));
    return check_judging(options_);
  }
  if (output_.empty() && (to_ == "csv" || context.json)) {
    return fail(
        ErrorKind::Usage, "", "--output",
        to_ == "csv" ? "missing: CSV is a folder" : "missing: --json describes what was written",
        "give a folder or file with -o");
  }
  if (output_.empty() && to_ == "perfetto" && context.out_terminal.interactive) {
    return fail(ErrorKind::Usage, "", "--output", "missing: a trace cannot be shown on a terminal",
                "give a file with -o, as in '-o run.pftrace'");
  }
  if (until_.count() != 0 && until_ <= from_) {
    return fail(ErrorKind::Usage, "", "--until", "is not after --since");
  }
  if (to_ == "prometheus" && (from_.count() != 0 || until_.count() != 0)) {
    return fail(ErrorKind::Usage, "", "--since, --until", "final figures are of the whole run",
                "leave them out, or export to another format");
  }
  return check_judging(options_);
}

std::optional<Span> ExportCommand::wanted() const {
  if (from_.count() == 0 && until_.count() == 0) {
    return std::nullopt;
  }
  return Span{from_.count() == 0 ? -kFarNs : from_.count(),
              until_.count() == 0 ? kFarNs : until_.count()};
}

Result<cli::ExitCode> ExportCommand::run(cli::Context& context) {
  if (to_.empty()) {
    to_ = send_.empty() ? format_named_by(output_) : "otlp";
  }
  TRY(check(context));
  TRY(const sys::Signals signals, sys::Signals::watch({SIGINT, SIGTERM}));
  TRY(folder_, choose_run(context, "export", folder_));
  TRY(record::Run records, records_of(folder_));
  bool is_stopped = false;
  std::optional<cli::Progress> progress;
  ExportWatch watch;
  watch.is_stopped = [&] { return is_stopped = is_stopped || signals.next().has_value(); };
  watch.on_rows = [&](std::uint64_t done, std::uint64_t total) {
    if (!progress) {
      progress.emplace(context, "exporting", total);
    }
    progress->update(done);
  };
  ExportedRun run(name_of_folder(folder_), records, wanted(), watch);
  const ExportFormat format = named<ExportFormat>(to_).value_or(ExportFormat::Json);
  Result<ExportOutcome> outcome = send_.empty() ? export_to(format, output_, run, options_, context)
                                                : send_otlp(send_, run, options_, context);
  progress.reset();
  if (!outcome) {
    return fail(outcome.error());
  }
  warn(context, run, *outcome);
  if (context.json) {
    outcome->exported.run = run.name();
    outcome->exported.to = format;
    outcome->exported.rows = run.rows();
    cli::Json document = cli::document(context, Fields<Exported>::kSchema);
    document.update(json::to_json(outcome->exported));
    cli::print(context, document);
  } else if (!send_.empty() && !context.quiet) {
    fmt::print(context.err, "{}: took {}\n", cli::printable(send_), outcome->taken);
  } else if (!output_.empty() && !context.quiet) {
    print_written(context, run, outcome->exported);
  }
  return cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory export_command() { return cli::command<ExportCommand>(); }

}  // namespace chokepoint::analysis
