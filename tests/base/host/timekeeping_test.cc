#include "base/host/timekeeping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

TEST(Timekeeping, FindsTheProgramsThatKeepTheClock) {
  const Timekeeping time = read_timekeeping(fakes::HostTree::from_text(R"(
/proc/1/comm = systemd
/proc/77/comm = chronyd
/proc/78/comm = chronyd
/proc/99/comm = ptp4l
/proc/driver/comm = ntpd
/sys/devices/system/clocksource/clocksource0/current_clocksource = hpet
/sys/devices/system/clocksource/clocksource0/available_clocksource = tsc hpet acpi_pm
)")
                                                .root());
  EXPECT_THAT(time.keepers, testing::ElementsAre("chronyd", "ptp4l"));
  EXPECT_EQ(time.source, "hpet");
  EXPECT_THAT(time.sources, testing::ElementsAre("tsc", "hpet", "acpi_pm"));
  EXPECT_EQ(time.synchronised, std::nullopt) << "a copy does not run";
}

TEST(Timekeeping, TimesyncdLeavesAFile) {
  const auto tree = fakes::HostTree::from_text("/run/systemd/timesync/synchronized = \n");
  EXPECT_EQ(read_timekeeping(tree.root()).synchronised, true);
}

TEST(Timekeeping, TheRunningKernelIsAsked) {
  EXPECT_TRUE(read_timekeeping(sys::Root()).synchronised);
}

}  // namespace
}  // namespace chokepoint::host
