#include "analysis/commands/export_output.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "analysis/commands/written_file.h"
#include "analysis/export/json.h"
#include "analysis/export/perfetto/perfetto.h"
#include "analysis/export/prometheus.h"
#include "base/cli/output.h"
#include "base/math/units.h"

namespace chokepoint::analysis {
namespace {

// What a browser keeps in memory without effort.
constexpr double kLargeTrace = 500e6;

Result<Exported> export_to_one(const std::string& format, const std::string& place,
                               ExportedRun& run, const DiagnoseOptions& options,
                               const cli::Context& context) {
  TRY(check_no_record(place));
  TRY(std::unique_ptr<cli::Output> out,
      place.empty()
          ? Result<std::unique_ptr<cli::Output>>(cli::open_stream(context.out, "standard output"))
          : cli::open_file(place));
  Exported exported;
  if (format == "perfetto") {
    const TraceFigures figures = write_perfetto(run, *out);
    exported.events = figures.events;
    exported.left_out = figures.left_out;
  } else if (format == "json") {
    write_json(run, cli::document(context, "chokepoint.export/1"), *out);
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
  return exported;
}

}  // namespace

Result<Exported> export_to(const std::string& format, const std::string& place, ExportedRun& run,
                           const DiagnoseOptions& options, const cli::Context& context) {
  if (format != "csv") {
    return export_to_one(format, place, run, options, context);
  }
  Result<std::vector<WrittenFile>> files = write_csv(run, place);
  if (!files && files.error().kind == ErrorKind::Interrupted) {
    return fail(ErrorKind::Interrupted, "", place, "stopped", "nothing was written");
  }
  return files ? Result<Exported>(Exported{.files = std::move(*files)}) : fail(files.error());
}

void tell(const cli::Context& context, const ExportedRun& run, const Exported& exported) {
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
    fmt::print(context.err, ", {} events; {}", *exported.events,
               bytes > kLargeTrace ? "much for a browser: --from and --until cut it"
                                   : "open it at https://ui.perfetto.dev");
  }
  context.err << '\n';
}

}  // namespace chokepoint::analysis
