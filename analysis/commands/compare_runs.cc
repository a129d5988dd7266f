#include "analysis/commands/compare_runs.h"

#include "analysis/compare/run_figures.h"

namespace chokepoint::analysis {
namespace {

// The command's name says already what failed.
std::unexpected<Error> failed(Error error) {
  error.operation.clear();
  return fail(std::move(error));
}

}  // namespace

Result<ComparedRun> read_run(const RunFolder& folder, const std::string& samples_label,
                             const DiagnoseOptions& options) {
  Result<record::Run> records = record::open_run(folder.path);
  if (!records) {
    return failed(records.error());
  }
  if (records->nodes.empty()) {
    return records->unreadable.size() == 1
               ? failed(records->unreadable.front())
               : fail(ErrorKind::Malformed, "", folder.path, "none of its records can be read",
                      "'chokepoint record show' says why of each");
  }
  const RunSummary summary = summarize(*records);
  const RunData data = load_run(*records);
  const Diagnosis diagnosis = diagnose(data, options);
  ComparedRun run =
      figures_of({.summary = summary, .data = data, .diagnosis = diagnosis}, samples_label);
  run.path = folder.path;
  run.folder = folder.folder;
  return run;
}

}  // namespace chokepoint::analysis
