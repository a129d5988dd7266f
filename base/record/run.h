// A run: the records of its nodes, which lie in one folder. One thread at a time.
#pragma once

#include <filesystem>
#include <vector>

#include "base/record/reader.h"

namespace chokepoint::record {

struct Run {
  std::vector<Reader> nodes;      // by name
  std::vector<Error> unreadable;  // a record each that could not be opened
};

// Every *.db of the folder; or the one file. An Error where the folder or records are missing.
Result<Run> open_run(const std::filesystem::path& folder);

}  // namespace chokepoint::record
