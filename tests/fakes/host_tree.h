// A host's /proc, /sys and /etc unpacked from one text file into a temporary folder, so that a
// fixture can be read and reviewed as a page. Lines of tests/fixtures/hosts/*.host:
//
//   # a comment
//   /sys/class/net/eth0/mtu = 1500            a file of one line ("\n" stands for a line end)
//   /sys/…/config := 4096 100:0d00 106:5d     so many bytes, zeros but for those from there, all
//   hex /sys/class/net/eth0 -> ../../devices/…    a symbolic link, as the kernel makes it
//   /sys/class/infiniband/                    an empty folder
//   /proc/cpuinfo <<END                       a file of several lines, up to END
//
// Removed with the object.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/sys/root.h"

namespace chokepoint::fakes {

class HostTree {
 public:
  // Throws std::runtime_error, which fails the test, where the text cannot be read.
  static HostTree from_text(std::string_view text);
  static HostTree from_fixture(const std::string& name);  // "e810-gen3-x8"
  // Into a folder that stays.
  static void unpack(std::string_view text, const std::filesystem::path& folder);

  HostTree(HostTree&& other) noexcept;
  HostTree& operator=(HostTree&&) = delete;
  ~HostTree();

  sys::Root root() const { return sys::Root(folder_); }
  void write(std::string_view path, std::string_view content) const;
  void link(std::string_view path, std::string_view target) const;
  void remove(std::string_view path) const;

 private:
  HostTree();
  std::filesystem::path folder_;
};

}  // namespace chokepoint::fakes
