#include "probe/host/kernel_checks.h"

namespace chokepoint::probe {
namespace {

// tcp_info has had delivery rate and the limited-by times since 4.9, dsack and reordering counts
// since 4.19.
constexpr int kOldestUseful = 4019;

}  // namespace

void check_kernel(const host::Kernel& kernel, Checks& checks) {
  Check check{.id = "kernel.release",
              .subject = "host",
              .found = kernel.release.value_or(""),
              .wanted = "4.19 or newer",
              .why = "the kernel's TCP counters tell what limited a flow; older ones lack some"};
  const std::optional<int> number = release_number(kernel);
  if (!number) {
    check.status = Status::Unknown;
    check.next_step = "uname -r";
  } else if (*number < kOldestUseful) {
    check.status = Status::Warning;
    check.next_step = "boot a newer kernel of your distribution";
  }
  checks.push_back(std::move(check));
}

}  // namespace chokepoint::probe
