// A file with a given content that is gone when it goes.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/sys/descriptor.h"

namespace chokepoint::fakes {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& content)
      : path_((std::filesystem::temp_directory_path() / "chokepoint-file-XXXXXX").string()) {
    const sys::Descriptor fd(mkstemp(path_.data()));
    if (write(fd.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
      std::abort();
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { unlink(path_.c_str()); }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace chokepoint::fakes
