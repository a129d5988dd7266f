// One writer a record: an exclusive lock on a file beside it, held for the writer's life and gone
// with its process, however that ends. The file is removed on release. A file system without locks
// gives an empty lock: there nobody else can be kept out.
#pragma once

#include <filesystem>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::record {

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
