#include "probe/host/nic_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probe/host/checked.h"

namespace chokepoint::probe {
namespace {

using testing::HasSubstr;

host::Network network_with(std::vector<host::Nic> nics) { return {.nics = std::move(nics)}; }

TEST(NicLinkChecks, APortThatIsUpPasses) {
  EXPECT_EQ(only(check_link, sound_port(10'000)).status, Status::Pass);
}

TEST(NicLinkChecks, AnUnusedPortIsNoFinding) {
  host::Nic nic = sound_port(10'000);
  nic.carrier = false;
  EXPECT_EQ(only(check_link, nic).status, Status::Info);
  nic.settings.addresses = {{.address = *net::Address::parse("10.0.0.1"), .prefix = 24}};
  EXPECT_EQ(only(check_link, nic).status, Status::Warning);
  nic.enabled = false;
  EXPECT_EQ(only(check_link, nic).status, Status::Info);
}

TEST(NicLinkChecks, ABondMemberWithoutALinkIsAWarning) {
  host::Nic nic = sound_port(10'000);
  nic.carrier = false;
  nic.master = "bond0";
  EXPECT_EQ(only(check_link, nic).status, Status::Warning);
}

TEST(NicLinkChecks, ABrokenFallbackIsCritical) {
  const Checks checks = checked_fixture("fallback-100m");
  EXPECT_EQ(find_check(checks, "nic.speed", "eno1").status, Status::Critical);
  EXPECT_EQ(find_check(checks, "nic.duplex", "eno1").status, Status::Critical);
  EXPECT_THAT(find_check(checks, "nic.duplex", "eno1").next_step, HasSubstr("ethtool -s eno1"));
  EXPECT_EQ(find_check(checks, "nic.errors", "eno1").status, Status::Warning);
}

TEST(NicLinkChecks, OnlyTheFastestPortsSpeedIsAnAlarm) {
  host::Nic slow = sound_port(10'000);
  slow.settings.modes->fastest_mbps = 25'000;
  EXPECT_EQ(only(check_speed, network_with({slow}), slow).status, Status::Warning);
  EXPECT_EQ(only(check_speed, network_with({slow, sound_port(100'000)}), slow).status,
            Status::Info);
}

TEST(NicLinkChecks, ASwitchThatOffersNoMoreIsNoAlarm) {
  host::Nic nic = sound_port(1'000);
  nic.settings.modes->fastest_mbps = 10'000;
  nic.settings.modes->partner_fastest_mbps = 1'000;
  EXPECT_EQ(only(check_speed, network_with({nic}), nic).status, Status::Info);
}

TEST(NicLinkChecks, AnUnknownSpeedIsUnknown) {
  host::Nic nic = sound_port(0);
  nic.speed_mbps.reset();
  nic.settings.modes.reset();
  EXPECT_EQ(only(check_speed, network_with({nic}), nic).status, Status::Unknown);
}

struct MtuCase {
  std::int64_t speed_mbps;
  std::int64_t mtu;
  Status status;
};

TEST(NicLinkChecks, TheMtuIsJudgedBySpeed) {
  for (const MtuCase& each :
       {MtuCase{1'000, 1500, Status::Pass}, MtuCase{10'000, 1500, Status::Info},
        MtuCase{100'000, 1500, Status::Warning}, MtuCase{100'000, 9000, Status::Pass},
        MtuCase{1'000, 1400, Status::Info}, MtuCase{1'000, 576, Status::Warning}}) {
    host::Nic nic = sound_port(each.speed_mbps);
    nic.mtu = each.mtu;
    EXPECT_EQ(only(check_mtu, nic).status, each.status) << each.speed_mbps << " " << each.mtu;
  }
}

TEST(NicLinkChecks, ABondsMembersAndModeAreJudged) {
  const Check check = find_check(checked_fixture("bond-and-rails"), "nic.bond", "bond0");
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_THAT(check.found, HasSubstr("no carrier: eth1"));
  host::Nic bond{
      .name = "bond0",
      .kind = host::NicKind::Bond,
      .bond = host::Bond{.mode = "802.3ad", .hash_policy = "layer3+4", .members = {"a", "b"}}};
  EXPECT_EQ(only(check_bond, network_with({bond}), bond).status, Status::Pass);
  bond.bond->hash_policy = "layer2";
  EXPECT_EQ(only(check_bond, network_with({bond}), bond).status, Status::Info);
  bond.bond->mode = "balance-rr";
  EXPECT_EQ(only(check_bond, network_with({bond}), bond).status, Status::Warning);
}

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
