#include "analysis/commands/run_history.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "analysis/history/run_rows.h"
#include "base/trends/earlier.h"
#include "base/trends/standing_text.h"

namespace chokepoint::analysis {
namespace {

constexpr std::string_view kComparedMetric = "step_ms";

}  // namespace

history::Batch rows_of_run(const DiagnosedRun& run, const std::string& folder) {
  std::int64_t began_ns = 0;
  std::string program;
  for (const record::Reader& node : run.records.nodes) {
    for (const record::Session& session : node.sessions()) {
      began_ns = began_ns == 0 ? session.start_wall_ns : std::min(began_ns, session.start_wall_ns);
      program = session.program;
    }
  }
  return rows_of({.run = run.run,
                  .diagnosis = run.inquiry.diagnosis,
                  .folder = std::filesystem::absolute(folder).string(),
                  .program = program,
                  .began_wall_ns = began_ns});
}

void compare_with_earlier(const history::Flags& flags, const cli::Context& context,
                          DiagnosedRun& run, const std::string& folder) {
  history::Batch batch = rows_of_run(run, folder);
  std::erase_if(batch.rows, [](const history::Row& row) {
    return row.series.subject.kind != history::SubjectKind::Job ||
           row.series.metric != kComparedMetric;
  });
  const std::vector<trends::Standing> standings = trends::standings_in(flags, context, batch.rows);
  if (!standings.empty()) {
    run.inquiry.diagnosis.standing = trends::shown(standings.front(), trends::kRuns);
  }
}

}  // namespace chokepoint::analysis
