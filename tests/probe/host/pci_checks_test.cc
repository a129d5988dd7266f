// PCI links on whole hosts: measure/checks/pci_checks.cc as doctor asks it.
#include "measure/checks/pci_checks.h"

#include <gtest/gtest.h>

#include "tests/fakes/golden.h"
#include "tests/fakes/page.h"
#include "tests/probe/host/checked.h"

namespace chokepoint::probe {
namespace {

using checks::check_pci_bandwidth;
using checks::check_pci_errors;
using checks::check_pci_link;
using checks::check_pci_shared;

host::PciLink link_of(double speed, int width) { return {.speed_gts = speed, .width = width}; }

host::Nic port_in_slot(std::int64_t speed_mbps, host::PciLink current, host::PciLink card,
                       host::PciLink slot) {
  host::Nic nic = sound_port(speed_mbps);
  nic.pci = {.address = "0000:01:00.0",
             .path = {{.address = "0000:00:01.0",
                       .current = current,
                       .maximum = slot,
                       .possible = common(slot, card)},
                      {.address = "0000:01:00.0",
                       .current = current,
                       .maximum = card,
                       .possible = common(slot, card)}}};
  return nic;
}

// A port whose card, slot and link are all the same.
host::Nic port_on(std::int64_t speed_mbps, double speed_gts, int width) {
  const host::PciLink link = link_of(speed_gts, width);
  return port_in_slot(speed_mbps, link, link, link);
}

TEST(PciChecks, ACardThatWantsGen4x16InAGen3x8SlotIsCritical) {
  const Checks checks = checked_fixture("e810-gen3-x8");
  const Check bandwidth = find_check(checks, "pci.bandwidth", "enp3s0np0");
  EXPECT_EQ(bandwidth.status, Status::Critical);
  const Check link = find_check(checks, "pci.link", "enp3s0np0");
  EXPECT_EQ(link.status, Status::Warning);
  EXPECT_EQ(find_check(checks, "pci.bandwidth", "eno1").status, Status::Pass);
}

TEST(PciChecks, PictureOfANarrowSlotAndOfANarrowSwitch) {
  for (const auto& [fixture, port] :
       {std::pair("e810-gen3-x8", "enp3s0np0"), std::pair("switch-x4", "ens1np0")}) {
    Checks told = checked_fixture(fixture);
    std::erase_if(told, [port = std::string(port)](const Check& check) {
      return check.subject != port || !check.id.starts_with("pci.");
    });
    EXPECT_GOLDEN(std::string("doctor_pci_") + fixture,
                  fakes::page_of([&](const cli::Context& context) {
                    checks::print_page(context, told, true);
                  }));
  }
}

TEST(PciChecks, ANarrowHopAboveTheCardIsNamed) {
  const Checks checks = checked_fixture("switch-x4");
  const Check link = find_check(checks, "pci.link", "ens1np0");
  EXPECT_EQ(link.status, Status::Warning);
  const Check bandwidth = find_check(checks, "pci.bandwidth", "ens1np0");
  EXPECT_EQ(bandwidth.status, Status::Critical);
}

struct SlotCase {
  std::int64_t port_mbps;
  double speed_gts;
  int width;
  Status status;
};

TEST(PciChecks, BandwidthIsJudgedAgainstTheLineRate) {
  for (const SlotCase& each : {
           SlotCase{100'000, 8, 16, Status::Pass},
           SlotCase{100'000, 16, 8, Status::Pass},
           SlotCase{100'000, 8, 8, Status::Critical},
           SlotCase{200'000, 8, 16, Status::Critical},
           SlotCase{200'000, 16, 16, Status::Pass},
           SlotCase{400'000, 32, 16, Status::Pass},
           SlotCase{400'000, 16, 16, Status::Critical},
           SlotCase{56'000, 16, 4, Status::Pass},
           SlotCase{60'000, 16, 4, Status::Warning},
           SlotCase{25'000, 8, 4, Status::Pass},
           SlotCase{25'000, 8, 2, Status::Critical},
           SlotCase{10'000, 5, 4, Status::Pass},
           SlotCase{10'000, 2.5, 4, Status::Critical},
           SlotCase{1'000, 2.5, 1, Status::Pass},
       }) {
    EXPECT_EQ(only(check_pci_bandwidth, port_on(each.port_mbps, each.speed_gts, each.width)).status,
              each.status)
        << each.port_mbps << " over " << each.speed_gts << " x" << each.width;
  }
}

TEST(PciChecks, ASmallPayloadCostsBandwidth) {
  host::Nic nic = port_on(110'000, 8, 16);
  EXPECT_EQ(only(check_pci_bandwidth, nic).status, Status::Pass);
  EXPECT_NE(only(check_pci_bandwidth, nic).found.find("256 bytes assumed"), std::string::npos);
  nic.pci->path.back().payload_bytes = 128;
  EXPECT_EQ(only(check_pci_bandwidth, nic).status, Status::Warning);
  EXPECT_EQ(only(check_pci_bandwidth, nic).found.find("assumed"), std::string::npos);
}

TEST(PciChecks, ASlotBelowTheCardIsNoAlarmWhereItSuffices) {
  const Check check =
      only(check_pci_link, port_in_slot(25'000, link_of(8, 8), link_of(16, 8), link_of(8, 8)));
  EXPECT_EQ(check.status, Status::Info);
  EXPECT_TRUE(check.next_step.empty());
}

TEST(PciChecks, ALinkThatTrainedDownIsAWarningEvenWhereItSuffices) {
  const Check check =
      only(check_pci_link, port_in_slot(10'000, link_of(8, 4), link_of(8, 8), link_of(8, 8)));
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_NE(check.next_step.find("reseat"), std::string::npos);
}

TEST(PciChecks, APortWithoutALinkRaisesNoAlarm) {
  host::Nic nic = port_in_slot(100'000, link_of(8, 8), link_of(16, 16), link_of(16, 16));
  nic.carrier = false;
  EXPECT_EQ(only(check_pci_link, nic).status, Status::Info);
  EXPECT_EQ(only(check_pci_bandwidth, nic).status, Status::Info);
}

TEST(PciChecks, AFastPortOfUnknownLinkIsUnknown) {
  host::Nic nic = port_in_slot(100'000, {}, {}, {});
  EXPECT_EQ(only(check_pci_link, nic).status, Status::Unknown);
  Checks checks;
  check_pci_bandwidth(nic, checks);
  check_pci_link(port_in_slot(1'000, {}, {}, {}), checks);
  EXPECT_TRUE(checks.empty());
}

TEST(PciChecks, TwoPortsOfOneCardShareItsLink) {
  host::Network network;
  network.nics = {port_on(100'000, 8, 16), port_on(100'000, 8, 16)};
  network.nics[1].name = "eth1";
  network.nics[1].pci->path.back().address = "0000:01:00.1";
  const Check check = only(check_pci_shared, network, network.nics[0]);
  EXPECT_EQ(check.status, Status::Info);
  EXPECT_TRUE(check.wanted.starts_with("200 Gb/s")) << check.wanted;
  network.nics[1].carrier = false;
  Checks checks;
  check_pci_shared(network, network.nics[0], checks);
  EXPECT_TRUE(checks.empty());
}

TEST(PciChecks, ErrorsAreJudgedByTheirKindAndNumber) {
  host::Nic nic = port_on(100'000, 16, 16);
  Checks checks;
  check_pci_errors(nic, checks);
  EXPECT_TRUE(checks.empty()) << "what is not counted is not judged";
  host::PciErrors& errors = nic.pci->path.front().errors;
  errors = {.correctable = 0, .nonfatal = 0, .fatal = 0};
  EXPECT_EQ(only(check_pci_errors, nic).status, Status::Pass);
  errors.correctable = 3;
  EXPECT_EQ(only(check_pci_errors, nic).status, Status::Info);
  errors.correctable = 1000;
  EXPECT_EQ(only(check_pci_errors, nic).status, Status::Warning);
  errors = {.correctable = 0, .nonfatal = 1, .fatal = 0};
  EXPECT_EQ(only(check_pci_errors, nic).status, Status::Warning);
  EXPECT_NE(only(check_pci_errors, nic).found.find("0000:00:01.0"), std::string::npos);
}

}  // namespace
}  // namespace chokepoint::probe
