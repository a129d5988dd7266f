// What a command writes to a file that its user named. The caller's thread.
#pragma once

#include <filesystem>
#include <string>

#include "base/sys/error.h"

namespace chokepoint::analysis {

// What -o calls standard output.
constexpr const char* kStandardOutput = "-";

// An Error where the name is that of a run's record.
Result<> check_no_record(const std::filesystem::path& file);

// In one piece: what was there before stays whole until the new one is. Never over a run's record.
Result<> write_file(const std::string& file, const std::string& content);

}  // namespace chokepoint::analysis
