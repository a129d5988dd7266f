// The files that commands read and write: a run's folder as the user names it, opened and
// diagnosed, and output files, which never replace a record. The caller's thread.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/evidence/tool_file.h"
#include "analysis/load/run_data.h"
#include "base/cli/context.h"
#include "base/cli/flags.h"
#include "base/record/reader.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// The flags that set how a run is judged, the same for every command that shows a verdict, so that
// two commands never contradict each other.
void define_judging(cli::Flags& flags, DiagnoseOptions& options);
// Files beside a run's records, by their names.
struct GivenFiles {
  std::vector<std::string> ceilings = {};  // documents of probes
  std::vector<std::string> with = {};      // of other tools; a folder stands for the files in it
};

// Beside these, --ceiling and --with.
void define_given(cli::Flags& flags, GivenFiles& files);
// An Error of kind Usage where a value makes no sense.
Result<> check_judging(const DiagnoseOptions& options);

// Drops the operation, which only repeats the command's name.
Error without_operation(Error error);

// As it was given, without "." parts and trailing slashes.
std::string name_of_folder(const std::string& folder);

// "2026-11-26 10:03:21", UTC.
std::string moment_text(std::int64_t wall_ns);

inline constexpr std::string_view kLatestRun = "latest";

// What DIR names: a path, or where nothing here is called so, a run's name below chokepoint-runs or
// "latest", the newest of these.
std::string path_of_run(const std::string& given);

// The run that a command was given, or, if it was given none, the newest of those in
// chokepoint-runs, which a line on standard error names. An Error where there are several to
// choose from.
Result<std::string> choose_run(const cli::Context& context, std::string_view command,
                               const std::string& given);

// Of a command that was given no run, where none lies here.
std::unexpected<Error> no_run_here();

// An Error where there is no record, or a single one that cannot be read.
Result<record::Run> open_records(const std::string& folder);
// At least one record that can be read; an Error where there is none.
Result<record::Run> records_of(const std::string& folder);

// Records that cannot be read, or only in part, of RunData or a RunSummary.
template <class Run>
std::vector<Error> troubles_of(const Run& run) {
  std::vector<Error> troubles = run.unreadable;
  for (const auto& node : run.nodes) {
    if (node.damage) {
      troubles.push_back(*node.damage);
    }
  }
  std::ranges::transform(troubles, troubles.begin(), without_operation);
  return troubles;
}

// A line each on standard error.
void print_troubles(const cli::Context& context, std::string_view command,
                    const std::vector<Error>& troubles);

struct DiagnosedRun {
  record::Run records = {};
  RunData run = {};
  Inquiry inquiry = {};  // borrows from `run`, whose nodes stay where they are when it is moved
  std::vector<Error> troubles = {};  // records that cannot be read, or only in part
};

// An Error where there is no record, or none that can be read, or a given file that cannot be.
// What probes measured is taken together with the run's own probes. A file that belongs to no node
// or not to the time of the run is reported among the troubles, as is one of a given folder that is
// of no known kind.
Result<DiagnosedRun> diagnose_folder(const std::string& folder, const DiagnoseOptions& options,
                                     const GivenFiles& given = {});
// The same without the tests after the job, whose results are saved beside it.
Result<DiagnosedRun> diagnose_unconfirmed(const std::string& folder, const DiagnoseOptions& options,
                                          const GivenFiles& given = {});
// The same of a run of which there is no record: what other tools' files say of it.
Result<DiagnosedRun> diagnose_files(const DiagnoseOptions& options, const GivenFiles& given);
// The same of records that are open; `name` is what advised commands call the run's folder.
DiagnosedRun diagnose_records(record::Run records, const std::string& name,
                              const DiagnoseOptions& options, std::vector<ToolFile> given = {});

// What -o calls standard output.
constexpr const char* kStandardOutput = "-";

// An Error where the name is that of a run's record.
Result<> check_no_record(const std::filesystem::path& file);

// The text of an untrusted file. The Error names it.
Result<std::string> read_document(const std::string& file, std::size_t most_bytes);

// Replaces the file in one piece: readers see the old content or the new. Never a run's record.
Result<> write_file(const std::string& file, const std::string& content);
// The same under a name that the user did not give, in a folder in which anything may lie.
Result<> write_own_file(const std::string& file, const std::string& content);

}  // namespace chokepoint::analysis
