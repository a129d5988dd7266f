// A folder for copies that nobody else may look into; it goes with its owner.
#pragma once

#include <filesystem>
#include <utility>

#include "base/sys/error.h"

namespace chokepoint::record {

class PrivateFolder {
 public:
  // Below TMPDIR.
  static Result<PrivateFolder> make();
  PrivateFolder(PrivateFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  PrivateFolder& operator=(PrivateFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~PrivateFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit PrivateFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace chokepoint::record
