// What is copied to hosts that have no chokepoint: the relocatable tarball, a file that was given,
// or made by tar(1) of this installation where that was a tarball once. Reads files; one thread.
#pragma once

#include <filesystem>
#include <string>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::preflight {

class Copy {
 public:
  // By a file's content, or by that of the installation around this program.
  static Result<Copy> of_file(const std::string& path, const std::string& version);
  static Result<Copy> of_installation(const std::filesystem::path& program,
                                      const std::string& version);

  // Tells versions and contents apart: what is of this name is the same.
  const std::string& name() const { return name_; }
  // Only hosts of this machine's kind can run what runs here.
  bool is_of_this_machine() const { return file_.empty(); }
  // From its beginning, for one reader. Made on the first call.
  Result<sys::Descriptor> open();

 private:
  Copy() = default;
  Result<> make();

  std::string name_;
  std::filesystem::path file_;    // given
  std::filesystem::path folder_;  // or to be packed
  sys::Descriptor packed_;
};

}  // namespace chokepoint::preflight
