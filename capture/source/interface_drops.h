// What an interface's own counters say it lost before the kernel saw it. The counters stay open, so
// that they can be read after the thread has left the interface's network namespace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/sys/descriptor.h"
#include "base/sys/root.h"

namespace chokepoint::capture::source {

class InterfaceDrops {
 public:
  InterfaceDrops() = default;
  static InterfaceDrops of(const sys::Root& root, const std::string& interface);

  // Since the last call.
  std::uint64_t newly_dropped();

 private:
  std::uint64_t total() const;

  std::vector<sys::Descriptor> counters_;
  std::uint64_t before_ = 0;
};

}  // namespace chokepoint::capture::source
