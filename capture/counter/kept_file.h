// A file of /proc or /sys that is read again and again. Its descriptor stays open, which makes a
// reading five to ten times cheaper; where the file went and came back it is opened anew. Without
// `keep` each reading opens and closes it, for those who would hold too many. Owned by its reader;
// one thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/root.h"

namespace chokepoint::capture::counter {

class KeptFile {
 public:
  KeptFile(const sys::Root& root, std::string_view path, bool keep = true)
      : place_(root.at(path).string()), path_(path), keep_(keep) {}

  // Into the buffer, whose storage is used again; what is given refers to it.
  Result<std::string_view> read(std::string& buffer);
  const std::string& path() const { return path_; }  // as on the host

 private:
  // The number of bytes, or -1.
  ssize_t read_open(std::string& buffer) const;

  std::string place_;
  std::string path_;
  bool keep_;
  sys::Descriptor file_;
};

}  // namespace chokepoint::capture::counter
