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

 private:
  WriterLock(std::filesystem::path path, sys::Descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  std::filesystem::path path_;
  sys::Descriptor file_;
};

}  // namespace chokepoint::record
