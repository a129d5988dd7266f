#include "base/sys/host_name.h"

#include <unistd.h>

#include <array>

namespace chokepoint::sys {

std::string host_name(const Root& root) {
  if (root.is_live()) {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0') {
      return name.data();
    }
  }
  // What a network namespace with a name of its own is called stands here, too.
  return root.text("/proc/sys/kernel/hostname").value_or("unknown");
}

}  // namespace chokepoint::sys
