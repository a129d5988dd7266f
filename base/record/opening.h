// How a record is opened for reading: beside its writer if possible; unchanged if nothing may be
// written beside it and it has no remaining log; else by a private copy, into which the log of a
// killed writer is merged and whose older schema is updated. A copy keeps the record's holes, and
// is made only if there is space for it. The caller's thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/record/database.h"
#include "base/record/schema.h"
#include "base/sys/error.h"

namespace chokepoint::record {

// A folder for copies that no other user may read; it is removed with this object.

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

struct Opened {
  std::optional<PrivateFolder> copy;  // where `database` lies, if it is a copy
  Database database;
  std::optional<Error> damage;
  Content content;
};

Result<Opened> open_to_read(const std::filesystem::path& path);

// What of a file may be made up of zeros: behind a cut, or in holes where it is sent to others.
inline constexpr std::int64_t kMaxZeros = std::int64_t{64} << 20;

// Where a private folder has no room.
inline constexpr const char* kOtherTemporary = "set TMPDIR to a folder that has room";

}  // namespace chokepoint::record
