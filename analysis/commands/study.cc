#include "analysis/commands/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/commands/run_folder.h"
#include "base/record/schema.h"

namespace chokepoint::analysis {
namespace {

std::vector<Error> troubles_of(const RunData& run) {
  std::vector<Error> troubles;
  for (const Error& error : run.unreadable) {
    troubles.push_back(without_operation(error));
  }
  for (const NodeData& node : run.nodes) {
    if (node.damage) {
      troubles.push_back(without_operation(*node.damage));
    }
  }
  return troubles;
}

// A record may go on in a second job; only the last one is told.
std::vector<std::string> jobs_left_out(const record::Run& run) {
  std::vector<std::string> lines;
  for (const record::Reader& node : run.nodes) {
    const auto jobs = std::ranges::count_if(
        node.sessions(), [](const auto& session) { return !session.command.empty(); });
    if (jobs > 1) {
      lines.push_back(fmt::format(
          "the record of {} holds {} jobs: this is the last; 'run --out' takes a folder for each",
          node.node(), jobs));
    }
  }
  return lines;
}

// DIR in a command stands for the run's folder.
void name_folder(Verdict& verdict, const std::string& path) {
  constexpr std::string_view kFolder = "DIR";
  const std::string folder = record::shell_line(std::array{path});
  for (Advice& advice : verdict.advice) {
    const std::size_t at = advice.command.find(kFolder);
    if (at != std::string::npos) {
      advice.command.replace(at, kFolder.size(), folder);
    }
  }
}

}  // namespace

Result<Study> study(const std::string& folder, const DiagnoseOptions& options) {
  TRY(record::Run records, records_of(folder));
  Study study{.records = std::move(records)};
  study.run = load_run(study.records);
  study.inquiry = inquire(study.run, options);
  study.troubles = troubles_of(study.run);
  const std::string name = name_of_folder(folder);
  Diagnosis& diagnosis = study.inquiry.diagnosis;
  diagnosis.run = name;
  std::ranges::move(jobs_left_out(study.records), std::back_inserter(diagnosis.missing));
  name_folder(diagnosis.verdict, name);
  for (Verdict& other : diagnosis.others) {
    name_folder(other, name);
  }
  return study;
}

}  // namespace chokepoint::analysis
