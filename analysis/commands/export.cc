#include "analysis/commands/export.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "analysis/commands/export_output.h"
#include "analysis/commands/judging.h"
#include "analysis/commands/run_folder.h"
#include "base/cli/context.h"
#include "base/cli/output.h"
#include "base/sys/signals.h"

namespace chokepoint::analysis {
namespace {

using std::chrono::nanoseconds;

void warn(const cli::Context& context, const ExportedRun& run, const Exported& exported) {
  for (const Error& error : run.troubles()) {
    fmt::print(context.err, "chokepoint: export: {}\n", describe(without_operation(error)));
  }
  if (exported.left_out > 0) {
    fmt::print(context.err,
               "chokepoint: export: {} spans were left out: too many overlap each other\n",
               exported.left_out);
  }
}

cli::Json document_of(const cli::Context& context, const std::string& format,
                      const ExportedRun& run, const Exported& exported) {
  cli::Json document = cli::document(context, "chokepoint.exported/1");
  document["run"] = run.name();
  document["to"] = format;
  document["rows"] = run.rows();
  document["events"] = exported.events ? cli::Json(*exported.events) : cli::Json(nullptr);
  document["files"] = cli::Json::array();
  for (const WrittenFile& file : exported.files) {
    document["files"].push_back({{"path", file.path.string()}, {"bytes", file.bytes}});
  }
  return document;
}

}  // namespace

cli::Summary ExportCommand::summary() const {
  return {
      .name = "export",
      .purpose = "a run's records for the tools that you use already",
      .description =
          "Writes what the records of a run's nodes hold, all of it and on one clock, for other "
          "tools: 'perfetto' is a trace for ui.perfetto.dev, with a process a rank and a process a "
          "node; 'prometheus' the final figures and the verdict for node_exporter's textfile "
          "collector; 'csv' a folder with a file a table; 'json' one document. Nothing in the "
          "records is changed.\n\n"
          "A file gets its name when it is whole: an export that fails or is stopped leaves "
          "none. Without --output it goes to standard output, but for CSV.",
      .examples = {{"chokepoint export runs/a --to perfetto -o a.pftrace",
                    "then ui.perfetto.dev, 'Open trace file'"},
                   {"chokepoint export runs/a --to perfetto --from 60s --until 90s -o a.pftrace",
                    "half a minute of it"},
                   {"chokepoint export runs/a --to csv -o a-csv", "a folder of tables"},
                   {"chokepoint export runs/a --to prometheus -o /var/lib/node_exporter/a.prom",
                    "the final figures, for node_exporter"},
                   {"chokepoint export runs/a --to json | jq '.nodes[].node'", "for a script"}}};
}

void ExportCommand::define(cli::Flags& flags) {
  flags.positional("DIR", &folder_, "the run's folder, or one node's .db file");
  flags.group("What to write")
      .choice("to,t", &to_, {"perfetto", "prometheus", "csv", "json"}, "for which tool")
      .option("output,o", &output_, "FILE", "where to; a folder for CSV")
      .group("A part of the run")
      .option("from", &from_, "TIME", "samples and events from so long after the job's start")
      .option("until", &until_, "TIME", "and to so long after it");
  define_judging(flags, options_);
}

Result<> ExportCommand::check(const cli::Context& context) const {
  if (to_.empty()) {
    return fail(ErrorKind::Usage, "", "--to", "missing", "give perfetto, prometheus, csv or json");
  }
  if (output_.empty() && (to_ == "csv" || context.json)) {
    return fail(
        ErrorKind::Usage, "", "--output",
        to_ == "csv" ? "missing: CSV is a folder" : "missing: --json tells of what was written",
        "give a place with -o");
  }
  if (output_.empty() && to_ == "perfetto" && context.out_terminal.interactive) {
    return fail(ErrorKind::Usage, "", "--output", "missing: a trace is nothing for a terminal",
                "give a file with -o, as in '-o run.pftrace'");
  }
  if (until_.count() != 0 && until_ <= from_) {
    return fail(ErrorKind::Usage, "", "--until", "is not after --from");
  }
  if (to_ == "prometheus" && (from_.count() != 0 || until_.count() != 0)) {
    return fail(ErrorKind::Usage, "", "--from, --until", "final figures are of the whole run",
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
  TRY(check(context));
  const Result<sys::Signals> signals = sys::Signals::watch({SIGINT, SIGTERM});
  if (!signals) {
    return fail(signals.error());
  }
  TRY(record::Run records, records_of(folder_));
  bool is_stopped = false;
  std::optional<cli::Progress> progress;
  ExportWatch watch;
  watch.is_stopped = [&] { return is_stopped = is_stopped || signals->next().has_value(); };
  watch.on_rows = [&](std::uint64_t done, std::uint64_t total) {
    if (!progress) {
      progress.emplace(context, "exporting", total);
    }
    progress->update(done);
  };
  ExportedRun run(name_of_folder(folder_), records, wanted(), watch);
  const Result<Exported> exported = export_to(to_, output_, run, options_, context);
  progress.reset();
  if (!exported) {
    return fail(exported.error());
  }
  warn(context, run, *exported);
  if (context.json) {
    cli::print(context, document_of(context, to_, run, *exported));
  } else if (!output_.empty() && !context.quiet) {
    tell(context, run, *exported);
  }
  return cli::ExitCode::Done;
}

}  // namespace chokepoint::analysis
