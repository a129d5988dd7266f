#include "probe/host/kernel_checks.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::probe {
namespace {

Check checked(std::string_view host) {
  Checks checks;
  check_kernel(host::read_kernel(fakes::HostTree::from_text(host).root()), checks);
  return checks.at(0);
}

TEST(KernelChecks, ARecentKernelPasses) {
  EXPECT_EQ(checked("/proc/sys/kernel/osrelease = 5.14.0-427.40.1.el9_4.x86_64\n").status,
            Status::Pass);
}

TEST(KernelChecks, AnOldKernelIsAWarningWithANextStep) {
  const Check check = checked("/proc/sys/kernel/osrelease = 3.10.0-1160.el7.x86_64\n");
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_FALSE(check.next_step.empty());
}

TEST(KernelChecks, NoReleaseIsUnknown) { EXPECT_EQ(checked("").status, Status::Unknown); }

}  // namespace
}  // namespace chokepoint::probe
