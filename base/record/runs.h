// Folders of runs: which records lie in one, which are being written, which run is the newest, and
// which name is still free. The writer of a record keeps others out by WriterLock.
// Functions; any thread.
//
//   chokepoint-runs/        the default parent
//     812/                  a run, named by the job: base/host/launcher.h
//       a.db  b.db          a record for each node
//     812-2/                another one that would have had the same name
//     sweep/1/ … sweep/5/   a run repeated five times (run --repeat)
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::record {

// The folder of runs for which the user named none.
inline constexpr const char* kRunsFolder = "chokepoint-runs";

// Every *.db of the folder, sorted; or the one file.
Result<std::vector<std::filesystem::path>> record_files(const std::filesystem::path& folder);

// Whether some process has the record open for writing. Where the file system has no locks:
// whether it was written to within the last seconds.
bool is_being_written(const std::filesystem::path& record);

// Possible reasons why a record's last session has no end, for people. A writer that was killed
// leaves its log; a copy without the log cannot be distinguished from one by 'chokepoint collect'.
std::string why_without_end(const std::filesystem::path& record);

// Whether a run with this node's record would not be a new one: an earlier job is in that record,
// or the folder's other records ended a while ago. A run that some node still writes can be joined.
bool holds_earlier_run(const std::filesystem::path& folder, const std::string& node);

// The first of NAME-2, NAME-3 … into which this node can write a new run.
std::filesystem::path next_free(const std::filesystem::path& folder, const std::string& node);

// With all above it, unless it is there.
Result<> make_folder(const std::filesystem::path& folder);

// The first of NAME, NAME-2, NAME-3 … that did not exist. No two callers get the same one, on any
// host that shares the file system.
Result<std::filesystem::path> make_new_folder(const std::filesystem::path& folder);

// Who besides root may put something else into a folder, or in place of it or of a folder above it:
// the owner of one of them, or of a link that leads there.
std::optional<uid_t> other_owner(const std::filesystem::path& folder);

struct RunFolder {
  std::filesystem::path path = {};
  std::vector<std::filesystem::path> records = {};
  std::int64_t changed_wall_ns = 0;  // the newest of its records
};

// The runs in a folder, those of --repeat included, the newest first; none where it is one itself.
std::vector<RunFolder> runs_below(const std::filesystem::path& folder);

}  // namespace chokepoint::record
