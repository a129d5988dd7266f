// A folder below the system's one for temporary files, gone with the process that made it, however
// that one ends: a child waits for its end, and removes what is left.
//
//   this process ── pipe ──▶ the child: reads until there is no writer, removes the folder
//
// Made before the process has threads. Also where the process may not remove anything itself any
// more (base/sys/sandbox.h).
#pragma once

#include <filesystem>
#include <string_view>
#include <utility>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/process.h"

namespace chokepoint::sys {

class TemporaryFolder {
 public:
  // The folder's name begins with `name`.
  static Result<TemporaryFolder> make(std::string_view name);
  TemporaryFolder(TemporaryFolder&&) noexcept = default;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  TemporaryFolder(std::filesystem::path path, Descriptor alive, Process keeper)
      : path_(std::move(path)), alive_(std::move(alive)), keeper_(std::move(keeper)) {}

  std::filesystem::path path_;
  Descriptor alive_;  // closed in the moved-from one
  Process keeper_;
};

}  // namespace chokepoint::sys
