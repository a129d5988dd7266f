// The files that commands read and write: a run's folder as the user names it, opened and
// diagnosed, and output files, which never replace a record. The caller's thread.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analysis/attribution/diagnose.h"
#include "analysis/load/run_data.h"
#include "base/cli/flags.h"
#include "base/record/reader.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// The flags that set how a run is judged, the same for every command that shows a verdict, so that
// two commands never contradict each other.
void define_judging(cli::Flags& flags, DiagnoseOptions& options);
// An Error of kind Usage where a value makes no sense.
Result<> check_judging(const DiagnoseOptions& options);

// Drops the operation, which only repeats the command's name.
Error without_operation(Error error);

// As it was given, without "." parts and trailing slashes.
std::string name_of_folder(const std::string& folder);

// At least one record that can be read; an Error where there is none.
Result<record::Run> records_of(const std::string& folder);

struct DiagnosedRun {
  record::Run records = {};
  RunData run = {};
  Inquiry inquiry = {};  // borrows from `run`, whose nodes stay where they are when it is moved
  std::vector<Error> troubles = {};  // records that cannot be read, or only in part
};

// An Error where there is no record, or none that can be read.
Result<DiagnosedRun> diagnose_folder(const std::string& folder, const DiagnoseOptions& options);

// What -o calls standard output.
constexpr const char* kStandardOutput = "-";

// An Error where the name is that of a run's record.
Result<> check_no_record(const std::filesystem::path& file);

// Replaces the file in one piece: readers see the old content or the new. Never a run's record.
Result<> write_file(const std::string& file, const std::string& content);

}  // namespace chokepoint::analysis
