#include "capture/source/interface_drops.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

namespace chokepoint::capture::source {

InterfaceDrops InterfaceDrops::of(const sys::Root& root, const std::string& interface) {
  InterfaceDrops drops;
  const std::string folder = "/sys/class/net/" + interface + "/statistics/";
  for (const char* counter : {"rx_missed_errors", "rx_fifo_errors"}) {
    sys::Descriptor descriptor(open(root.at(folder + counter).c_str(), O_RDONLY | O_CLOEXEC));
    if (descriptor) {
      drops.counters_.push_back(std::move(descriptor));
    }
  }
  drops.before_ = drops.total();
  return drops;
}

std::uint64_t InterfaceDrops::total() const {
  std::uint64_t sum = 0;
  for (const sys::Descriptor& counter : counters_) {
    std::array<char, 32> text{};
    if (pread(counter.get(), text.data(), text.size() - 1, 0) > 0) {
      sum += std::strtoull(text.data(), nullptr, 10);
    }
  }
  return sum;
}

// Counters of an interface that is gone cannot be read: they never count backwards.
std::uint64_t InterfaceDrops::newly_dropped() {
  const std::uint64_t now = total();
  const std::uint64_t before = std::exchange(before_, std::max(now, before_));
  return before_ - before;
}

}  // namespace chokepoint::capture::source
