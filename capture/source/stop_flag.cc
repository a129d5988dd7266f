#include "capture/source/stop_flag.h"

#include <sys/eventfd.h>

namespace chokepoint::capture::source {

StopFlag::StopFlag() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void StopFlag::ask() noexcept {
  asked_.store(true, std::memory_order_release);
  eventfd_write(descriptor_.get(), 1);
}

}  // namespace chokepoint::capture::source
