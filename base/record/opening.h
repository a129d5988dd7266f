// The ways to a record that is to be read: beside its writer where that can be done; as it is where
// nothing may be written beside it and no log is left over; else by a private copy, in which the
// log of a killed writer is joined and an older schema brought up to date. The caller's thread.
#pragma once

#include <filesystem>
#include <optional>
#include <utility>

#include "base/record/database.h"
#include "base/record/schema.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::record {

// A folder for copies that nobody else may look into; it goes with its owner.

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

// One writer a record: an exclusive lock on a file beside it, held for the writer's life and gone
// with its process, however that ends. The file is removed on release. A file system without locks
// gives an empty lock: there nobody else can be kept out.

class WriterLock {
 public:
  static Result<WriterLock> take(const std::filesystem::path& record);
  WriterLock(WriterLock&&) noexcept = default;
  WriterLock& operator=(WriterLock&&) = delete;
  ~WriterLock();

  bool is_held() const { return is_held_; }  // false where the file system has no locks

 private:
  WriterLock(std::filesystem::path path, sys::Descriptor file, bool is_held)
      : path_(std::move(path)), file_(std::move(file)), is_held_(is_held) {}

  std::filesystem::path path_;
  sys::Descriptor file_;
  bool is_held_;
};

}  // namespace chokepoint::record
