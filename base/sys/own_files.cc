#include "base/sys/own_files.h"

#include <system_error>

namespace chokepoint::sys {

std::optional<std::filesystem::path> own_library(const std::filesystem::path& program,
                                                 std::string_view name) {
  const std::filesystem::path folder = program.parent_path();
  for (const std::filesystem::path& lib : {folder.parent_path() / "lib", folder / "lib"}) {
    std::filesystem::path path = lib / "chokepoint" / name;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(path, ignored)) {
      return path;
    }
  }
  return std::nullopt;
}

std::optional<std::filesystem::path> own_library(std::string_view name) {
  std::error_code problem;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", problem);
  return problem ? std::nullopt : own_library(program, name);
}

}  // namespace chokepoint::sys
