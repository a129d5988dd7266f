#include <fmt/format.h>

#include "analysis/commands/history.h"
#include "analysis/commands/history_look.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/sys/clock.h"

namespace chokepoint::analysis {
namespace {

class HistoryExportCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "history export",
        .purpose = "writes the history's rows for other tools",
        .description =
            "Writes one line a row as CSV: time, subject, metric, what the test was asked for, "
            "value, unit, spread, count, source, program. Apache Otava reads it with time as its "
            "time column and value as its metric.",
        .examples = {{"chokepoint history export -o rows.csv", "all of it"},
                     {"chokepoint history export gpu3 --metric throughput_mbps", "a part"}}};
  }

  void define(cli::Flags& flags) override {
    flags.positional("SUBJECT", &wanted_.subject, "a host, a path, a device or a job", false);
    flags.group("What to write")
        .option("metric", &wanted_.metric, "NAME", "of this figure alone")
        .option("output,o", &output_, "FILE", "default: standard output");
    history::define_to_read(flags, history_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    TRY(const std::string place, wanted_place(history_, context));
    TRY(const std::unique_ptr<history::Store> store, history::open_to_read(place));
    TRY(const std::vector<history::MeasuredSeries> all, store->read(wanted_));
    std::unique_ptr<cli::Output> output = cli::open_stream(context.out, "standard output");
    if (!output_.empty()) {
      TRY(output, cli::open_file(output_));
    }
    output->write("time,subject,metric,setting,value,unit,spread,count,source,program\n");
    for (const history::MeasuredSeries& series : all) {
      for (const history::Measured& point : series.points) {
        output->write(line_of(series.series, point));
      }
    }
    TRY(output->finish());
    return cli::ExitCode::Done;
  }

 private:
  static std::string line_of(const history::Series& series, const history::Measured& point) {
    return fmt::format("{},{},{},{},{},{},{},{},{},{}\n", sys::rfc3339(point.wall_ns),
                       cli::csv_text(history::text_of(series.subject)),
                       cli::csv_text(series.metric), cli::csv_text(series.setting), point.value,
                       cli::csv_text(series.unit),
                       point.spread ? fmt::format("{}", *point.spread) : "", point.count,
                       cli::csv_text(point.source.view()), cli::csv_text(point.program.view()));
  }

  history::Wanted wanted_;
  std::string output_;
  history::Flags history_;
};

}  // namespace

cli::CommandFactory history_export_command() { return cli::command<HistoryExportCommand>(); }

}  // namespace chokepoint::analysis
