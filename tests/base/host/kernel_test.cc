#include "base/host/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

TEST(Sysctls, AreKnownByTheirNames) {
  const Sysctls sysctls = read_sysctls(fakes::HostTree::from_fixture("wan-small-buffers").root());
  EXPECT_EQ(sysctls.text("net.ipv4.tcp_rmem"), "4096 131072 6291456");
  EXPECT_EQ(sysctls.most("net.ipv4.tcp_rmem"), 6291456);
  EXPECT_EQ(sysctls.number("net.core.rmem_max"), 212992);
  EXPECT_EQ(sysctls.text("net.ipv4.tcp_congestion_control"), "cubic");
}

TEST(Sysctls, WhatIsNotThereOrNoNumberIsNotKnown) {
  const Sysctls sysctls = read_sysctls(fakes::HostTree::from_fixture("wan-small-buffers").root());
  EXPECT_EQ(sysctls.number("net.core.busy_poll"), std::nullopt);
  EXPECT_EQ(sysctls.number("net.ipv4.tcp_congestion_control"), std::nullopt);
  EXPECT_EQ(sysctls.most("net.core.rmem_max"), std::nullopt);
}

TEST(Sysctls, FactsNameTheFile) {
  Facts facts;
  append_facts(Sysctls(host::Sysctls::Values{{"net.core.rmem_max", "212992"}}), facts);
  ASSERT_EQ(facts.size(), 1);
  EXPECT_EQ(facts[0].source, "/proc/sys/net/core/rmem_max");
  EXPECT_EQ(facts[0].value, "212992");
}

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
  EXPECT_THAT(time.services, testing::ElementsAre("chronyd", "ptp4l"));
  EXPECT_EQ(time.source, "hpet");
  EXPECT_THAT(time.sources, testing::ElementsAre("tsc", "hpet", "acpi_pm"));
  EXPECT_EQ(time.synchronised, std::nullopt) << "a copy does not run";
}

TEST(Timekeeping, TimesyncdLeavesAFile) {
  const auto tree = fakes::HostTree::from_text("/run/systemd/timesync/synchronized = \n");
  EXPECT_EQ(read_timekeeping(tree.root()).synchronised, true);
}

TEST(Timekeeping, TheRunningKernelIsAsked) {
  const Timekeeping time = read_timekeeping(sys::Root());
  EXPECT_TRUE(time.synchronised);
  EXPECT_TRUE(time.correction_ppm);
}

TEST(Timekeeping, TheDaemonsFileTellsTheDrift) {
  const auto read = [](const char* line) {
    return read_timekeeping(fakes::HostTree::from_text(line).root());
  };
  const Timekeeping chrony =
      read("/var/lib/chrony/drift =            -31.204117             0.016\n");
  EXPECT_EQ(chrony.correction_ppm, -31.204117);
  EXPECT_EQ(chrony.correction_source, "/var/lib/chrony/drift");
  EXPECT_EQ(read("/var/lib/ntpsec/ntp.drift = 12.5\n").correction_ppm, 12.5);
  EXPECT_EQ(read("/var/lib/ntp/ntp.drift = nan\n").correction_ppm, std::nullopt);
  EXPECT_EQ(read("/var/lib/ntp/ntp.drift = much\n").correction_ppm, std::nullopt);
}

}  // namespace
}  // namespace chokepoint::host
