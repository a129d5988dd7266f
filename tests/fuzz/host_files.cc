// /proc, /sys and recorded answers come from kernels, drivers and copies of every kind: whatever a
// file holds, the host is read and judged, and every finding says why. Mounts have a point and a
// type.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/host/inventory.h"
#include "base/host/mounts.h"
#include "probe/host/checks.h"
#include "tests/fakes/host_tree.h"

namespace {

using namespace chokepoint;

struct Victim {
  fakes::HostTree tree = fakes::HostTree::from_fixture("e810-gen3-x8");
  std::vector<std::string> files;

  Victim() {
    const std::filesystem::path folder = tree.root().folder();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file() && !entry.is_symlink()) {
        files.push_back("/" + entry.path().lexically_relative(folder).string());
      }
    }
    std::ranges::sort(files);
  }
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  static const Victim kVictim;
  if (size < 2) {
    return 0;
  }
  const std::size_t choice = data[0] + data[1] * std::size_t{256};
  const std::string& path = kVictim.files[choice % kVictim.files.size()];
  const sys::Root root = kVictim.tree.root();
  const std::string before = root.read(path).value_or("");
  kVictim.tree.write(path, std::string_view(reinterpret_cast<const char*>(data) + 2, size - 2));
  for (const probe::Check& check : probe::examine(host::read_inventory(root))) {
    if (check.id.empty() || check.subject.empty() || check.why.empty()) {
      std::abort();
    }
  }
  kVictim.tree.write(path, before);
  for (const host::Mount& mount : host::mounts_in({reinterpret_cast<const char*>(data), size})) {
    if (mount.point.empty() || mount.type.empty()) {
      std::abort();
    }
  }
  return 0;
}
