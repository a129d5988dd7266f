// Captures given in place of a run: `chokepoint diagnose job.pcap`. They are read by `chokepoint
// capture -r --record`, a process of its own without rights, into records that are removed when
// the command ends. The caller's thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/commands/run_files.h"
#include "base/sys/error.h"
#include "base/sys/temporary_folder.h"

namespace chokepoint::analysis {

// By its first bytes: pcap, pcapng, or a compressed file.
bool is_capture_file(const std::string& path);

// Whether these words name captures and not a run. An Error of kind Usage where they name both, or
// several runs.
Result<bool> are_captures(const std::vector<std::string>& words);

// "--with trace*.json" gives the flag its first file, and leaves the others among the words that
// name runs: takes them from there.
Result<> take_tool_files(std::vector<std::string>& words, GivenFiles& given);

// What captures became. The folder goes with it.
class CapturedRecords {
 public:
  // One record for each file; an Error where a file holds no packets of any connection.
  static Result<CapturedRecords> read(const std::vector<std::string>& files);

  std::string folder() const { return folder_.path(); }
  // Gives the diagnosis the names of the files instead of the folder's, and adds what could not be
  // read of them.
  void name(DiagnosedRun& run) const;

 private:
  CapturedRecords(sys::TemporaryFolder folder, std::string names)
      : folder_(std::move(folder)), names_(std::move(names)) {}

  Result<> add(const std::string& file);

  sys::TemporaryFolder folder_;
  std::string names_;  // as a shell takes them
  std::vector<Error> troubles_;
};

// As diagnose_unconfirmed(), of captures. `records` outlives the run.
Result<DiagnosedRun> diagnose_captures(const CapturedRecords& records,
                                       const DiagnoseOptions& options, const GivenFiles& given);

}  // namespace chokepoint::analysis
