// A run as a folder of CSV files: one for each table that has rows, all nodes in it, with a `node`
// column; `nodes.csv` says what is known of each node and its clock, `columns.csv` what the columns
// mean. The files get their names together when all are complete. The caller's thread.
#pragma once

#include <filesystem>
#include <vector>

#include "analysis/export/exported_run.h"

namespace chokepoint::analysis {

struct WrittenFile {
  std::filesystem::path path = {};
  std::uintmax_t bytes = 0;
};

// Creates the folder, but not its parent. An export that fails or is stopped leaves nothing.
Result<std::vector<WrittenFile>> write_csv(ExportedRun& run, const std::filesystem::path& folder);

}  // namespace chokepoint::analysis
