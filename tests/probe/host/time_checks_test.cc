#include "probe/host/time_checks.h"

#include <gtest/gtest.h>

namespace chokepoint::probe {
namespace {

Checks checks_of(const host::Timekeeping& time) {
  Checks checks;
  check_time(time, checks);
  EXPECT_EQ(checks.at(0).id, "time.sync");
  EXPECT_EQ(checks.at(1).id, "time.source");
  return checks;
}

host::Timekeeping kept(std::optional<bool> synchronised) {
  host::Timekeeping time;
  time.synchronised = synchronised;
  time.largest_error_us = 1500;
  time.keepers = {"chronyd"};
  time.source = "tsc";
  return time;
}

TEST(Time, ASynchronisedClockPasses) {
  const Checks checks = checks_of(kept(true));
  EXPECT_EQ(worst(checks), Status::Pass);
  EXPECT_EQ(checks[0].found, "synchronised within 1.5 ms by chronyd");
}

TEST(Time, AClockThatNobodyKeepsIsAWarning) {
  host::Timekeeping time = kept(false);
  EXPECT_EQ(checks_of(time)[0].status, Status::Warning);
  EXPECT_EQ(checks_of(time)[0].next_step, "chronyc tracking || timedatectl timesync-status");
  time.keepers.clear();
  EXPECT_EQ(checks_of(time)[0].next_step, "apt-get install chrony || dnf install chrony");
}

TEST(Time, ACopyTellsOnlyWhoRan) {
  EXPECT_EQ(checks_of(kept(std::nullopt))[0].status, Status::Info);
  EXPECT_EQ(checks_of(host::Timekeeping())[0].status, Status::Unknown);
}

TEST(Time, ASlowClockIsAWarning) {
  host::Timekeeping time = kept(true);
  for (const char* slow : {"hpet", "acpi_pm", "jiffies"}) {
    time.source = slow;
    EXPECT_EQ(checks_of(time)[1].status, Status::Warning) << slow;
  }
  for (const char* fast : {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"}) {
    time.source = fast;
    EXPECT_EQ(checks_of(time)[1].status, Status::Pass) << fast;
  }
  time.source.reset();
  EXPECT_EQ(checks_of(time)[1].status, Status::Unknown);
}

}  // namespace
}  // namespace chokepoint::probe
