// Where this program's own shared objects lie: what it opens or hands to others at run time, such
// as NCCL's profiler plugin. Beside the program, wherever it was unpacked:
//
//   …/bin/chokepoint   …/lib/chokepoint/NAME     installed, or the tarball
//   build/chokepoint   build/lib/chokepoint/NAME the build tree
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace chokepoint::sys {

// The absolute path; nothing where there is none.
std::optional<std::filesystem::path> own_library(const std::filesystem::path& program,
                                                 std::string_view name);
// By /proc/self/exe.
std::optional<std::filesystem::path> own_library(std::string_view name);

}  // namespace chokepoint::sys
