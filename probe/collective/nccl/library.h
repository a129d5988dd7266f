// NCCL, opened at run time. Its errors in its own words. Any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/sys/error.h"
#include "base/sys/library.h"
#include "probe/collective/nccl/interface.h"

namespace chokepoint::probe::collective::nccl {

// Of the errors that come from here.
inline constexpr std::string_view kOperation = "backend nccl";

class Library {
 public:
  // `name`: "libnccl.so.2", or a path. Where the loader knows of no such name: the one that lies in
  // the Python environment, or where NCCL is usually put.
  static Result<std::shared_ptr<const Library>> open(const std::string& name);

  const std::string& version() const { return version_; }  // "NCCL 2.28.9"
  const Functions& functions() const { return functions_; }

  Result<> check(Code code, std::string_view subject) const;

 private:
  explicit Library(sys::Library library) : library_(std::move(library)) {}

  sys::Library library_;
  Functions functions_{};
  std::string version_;
};

}  // namespace chokepoint::probe::collective::nccl
