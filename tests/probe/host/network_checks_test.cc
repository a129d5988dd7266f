#include "probe/host/network_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/host/inventory.h"
#include "probe/host/examine.h"
#include "tests/fakes/host_tree.h"
#include "tests/probe/host/checked.h"

namespace chokepoint::probe {
namespace {

using testing::HasSubstr;

TEST(NetworkChecks, ATunedHostHasNothingToComplainOf) {
  for (const Check& check : checked_fixture("clean-25g")) {
    EXPECT_LE(check.status, Status::Info) << check.id << " " << check.subject << " " << check.found;
  }
}

TEST(NetworkChecks, VirtualInterfacesRaiseNoAlarm) {
  for (const Check& check : checked_fixture("clean-25g")) {
    EXPECT_THAT(check.subject, testing::AnyOf("enp33s0np0", "host")) << check.id;
  }
}

TEST(NetworkChecks, EveryAlarmTellsWhatWasFoundWhyAndWhatToDo) {
  for (const char* fixture : {"e810-gen3-x8", "mgmt-1g-fabric-100g", "switch-x4", "fallback-100m",
                              "untuned-100g", "bond-and-rails", "irq-one-cpu"}) {
    for (const Check& check : checked_fixture(fixture)) {
      EXPECT_FALSE(check.why.empty()) << check.id;
      if (check.status >= Status::Warning) {
        EXPECT_FALSE(check.found.empty()) << fixture << " " << check.id;
        EXPECT_FALSE(check.wanted.empty()) << fixture << " " << check.id;
        EXPECT_FALSE(check.next_step.empty()) << fixture << " " << check.id;
      }
    }
  }
}

TEST(NetworkChecks, AContainerWithoutSysfsIsUnknownNotBad) {
  const Checks checks = checked_fixture("container-bare");
  EXPECT_EQ(find_check(checks, "nic.link", "eth0").status, Status::Unknown);
  EXPECT_EQ(worst(checks), Status::Unknown);
}

TEST(NetworkChecks, AHostThatShowsNothingIsUnknown) {
  const auto tree = fakes::HostTree::from_text("/sys/class/net/\n");
  Checks checks;
  check_network(host::read_network(tree.root()), {}, checks);
  EXPECT_EQ(find_check(checks, "nic.link", "host").status, Status::Unknown);
  EXPECT_EQ(worst(checks), Status::Unknown);
}

TEST(NetworkChecks, ACopyWithoutRecordedAnswersSaysWhatIsMissing) {
  const auto tree = fakes::HostTree::from_fixture("clean-25g");
  tree.remove("/chokepoint");
  Checks checks;
  check_network(host::read_network(tree.root()), {}, checks);
  const Check settings = find_check(checks, "nic.settings", "enp33s0np0");
  EXPECT_EQ(settings.status, Status::Unknown);
  EXPECT_THAT(settings.why, HasSubstr("ethtool.json"));
  EXPECT_EQ(find_check(checks, "host.interfaces").status, Status::Unknown);
  EXPECT_EQ(worst(checks), Status::Unknown);
}

TEST(NetworkChecks, TheLiveHostCanBeExamined) {
  EXPECT_FALSE(examine(host::read_inventory(sys::Root())).empty());
}

}  // namespace
}  // namespace chokepoint::probe
