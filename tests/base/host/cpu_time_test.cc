#include "base/host/cpu_time.h"

#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

CoreTimes read(const char* cpu0, const char* cpu1) {
  const auto host =
      fakes::HostTree::from_text(std::string("/proc/stat <<END\ncpu  9 9 9 9 9 9 9 9\ncpu0 ") +
                                 cpu0 + "\ncpu1 " + cpu1 + "\nintr 5\nEND\n");
  return read_core_times(host.root()).value();
}

TEST(CpuTime, TheBusiestCoresAreFoundByTheDifference) {
  //                          user nice system idle iowait irq softirq steal
  const CoreTimes before = read("100 0 100 100 0 0 50 0", "0 0 0 0 0 0 0 0");
  const CoreTimes after = read("100 0 100 190 0 0 60 0", "80 0 10 5 5 0 0 0");
  const auto found = busiest(before, after);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->softirq_core, 0);
  EXPECT_DOUBLE_EQ(found->softirq_percent, 10);
  EXPECT_DOUBLE_EQ(found->busy_percent, 90);
}

TEST(CpuTime, NoTimeNoShare) {
  const CoreTimes same = read("1 2 3 4 5 6 7 8", "1 2 3 4 5 6 7 8");
  EXPECT_FALSE(busiest(same, same));
  EXPECT_FALSE(busiest({}, same));
}

TEST(CpuTime, AHostThatDoesNotTellIsAnError) {
  EXPECT_FALSE(read_core_times(sys::Root("/nowhere")));
}

}  // namespace
}  // namespace chokepoint::host
