#include "probe/host/nic_counter_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probe/host/checked.h"

namespace chokepoint::probe {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(NicCounterChecks, AFewErrorsAreALineAShareOfTheTrafficAnAlarm) {
  host::Nic nic = sound_port(100'000);
  EXPECT_EQ(only(check_errors, nic).status, Status::Pass);
  EXPECT_EQ(only(check_errors, nic).found, "0");
  nic.counters["rx_crc_errors"] = 100;
  EXPECT_EQ(only(check_errors, nic).status, Status::Info);
  nic.counters["rx_crc_errors"] = 101;
  EXPECT_EQ(only(check_errors, nic).status, Status::Warning);
}

TEST(NicCounterChecks, DropsOfTheDriverCount) {
  host::Nic nic = sound_port(100'000);
  nic.settings.statistics = {{"rx_out_of_buffer", 1000}};
  EXPECT_EQ(only(check_drops, nic).status, Status::Info);
  nic.settings.statistics = {{"rx_discards_phy", 1001}};
  EXPECT_EQ(only(check_drops, nic).status, Status::Warning);
  nic.settings.statistics = {{"port.rx_dropped", 1001}};
  EXPECT_EQ(only(check_drops, nic).status, Status::Warning);
}

TEST(NicCounterChecks, DropsThatSomebodyWantedDoNot) {
  host::Nic nic = sound_port(100'000);
  nic.settings.statistics = {{"rx_xdp_drop", 1'000'000}, {"rx_steer_missed_packets", 1'000'000}};
  nic.counters["rx_dropped"] = 1'000'000;
  EXPECT_EQ(only(check_drops, nic).status, Status::Pass);
}

TEST(NicCounterChecks, ThePausesDirectionTellsWhoIsSlow) {
  host::Nic nic = sound_port(100'000);
  nic.settings.statistics = {{"rx_prio3_pause", 20'000}, {"rx_prio3_pause_duration", 9'000'000}};
  Check check = only(check_pauses, nic);
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_THAT(check.why, HasSubstr("network cannot absorb"));
  EXPECT_THAT(check.found, Not(HasSubstr("duration")));
  nic.settings.statistics = {{"tx_priority_3_xoff.nic", 20'000}, {"tx_priority_3_xon.nic", 5}};
  check = only(check_pauses, nic);
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_THAT(check.why, HasSubstr("this host cannot drain"));
}

TEST(NicCounterChecks, ManyCarrierChangesAreALine) {
  host::Nic nic = sound_port(100'000);
  nic.counters["carrier_changes"] = 3;
  EXPECT_EQ(only(check_flaps, nic).status, Status::Pass);
  nic.counters["carrier_changes"] = 20;
  EXPECT_EQ(only(check_flaps, nic).status, Status::Info);
}

TEST(NicCounterChecks, WhatIsNotCountedIsNotJudged) {
  host::Nic nic = sound_port(100'000);
  nic.counters.clear();
  Checks checks;
  check_errors(nic, checks);
  check_drops(nic, checks);
  check_pauses(nic, checks);
  EXPECT_TRUE(checks.empty());
}

}  // namespace
}  // namespace chokepoint::probe
