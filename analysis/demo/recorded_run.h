// A run that the program carries, for `chokepoint demo`: 32 steps of data-parallel training by
// PyTorch over Gloo, on two hosts, where gpu1's sending to gpu2 is limited to 300 Mb/s. Recorded
// by `chokepoint run`; docs/internals/demo.md says how.
#pragma once

#include <filesystem>

#include "base/sys/error.h"

namespace chokepoint::analysis {

// Into a folder that exists: a file for each node.
Result<> write_recorded_run(const std::filesystem::path& folder);

}  // namespace chokepoint::analysis
