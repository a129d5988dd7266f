// Every trap of base/checks/traps.def that doctor knows, on a host that fell into it.
#include "base/checks/traps.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "probe/host/checks.h"
#include "tests/fakes/golden.h"
#include "tests/fakes/host_tree.h"
#include "tests/fakes/page.h"
#include "tests/probe/host/checked.h"

namespace chokepoint::probe {
namespace {

using checks::kTraps;
using checks::Trap;

fakes::HostTree host_with(std::string_view trap) {
  return fakes::HostTree::from_fixture(fmt::format("trap-{}", trap));
}

Checks examined(const fakes::HostTree& tree) { return examine(host::read_inventory(tree.root())); }

// The worst check with this id; fails the test where there is none.
Check worst_of(const Checks& checks, std::string_view id) {
  Check worst;
  for (const Check& check : checks) {
    if (check.id == id && (worst.id.empty() || check.status > worst.status)) {
      worst = check;
    }
  }
  EXPECT_EQ(worst.id, id) << "no such check";
  return worst;
}

Check seen(std::string_view trap, std::string_view check) {
  return worst_of(examined(host_with(trap)), check);
}

TEST(Traps, PictureOfEachOnItsHost) {
  Checks told;
  for (const Trap& trap : kTraps) {
    if (trap.command == "doctor") {
      told.push_back(seen(trap.name, trap.check));
      EXPECT_GE(told.back().status, Status::Warning) << trap.name;
      EXPECT_FALSE(told.back().next_step.empty()) << trap.name;
    }
  }
  EXPECT_GE(told.size(), 9U);
  EXPECT_GOLDEN("doctor_traps", fakes::page_of([&](const cli::Context& context) {
                  checks::print_page(context, told, true);
                }));
}

TEST(Traps, AreNotSeenOnHostsThatAreWell) {
  const Checks checks = examined(fakes::HostTree::from_fixture("healthy"));
  for (const Trap& trap : kTraps) {
    EXPECT_TRUE(std::ranges::none_of(checks, [&](const Check& check) {
      return check.id == trap.check && check.status >= Status::Warning;
    })) << trap.name;
  }
}

TEST(Traps, OfOtherHostsAreNotSeen) {
  for (const Trap& other : kTraps) {
    if (other.command != "doctor") {
      continue;
    }
    const Checks checks = examined(host_with(other.name));
    for (const Trap& trap : kTraps) {
      // Of a port whose halves are not both in use each has a slot of half its rate.
      const bool is_one = trap.check == other.check ||
                          (trap.name == "half-rate-slot" && other.name == "port-as-two");
      if (trap.command != "doctor" || is_one) {
        continue;
      }
      EXPECT_TRUE(std::ranges::none_of(checks,
                                       [&](const Check& check) {
                                         return check.id == trap.check &&
                                                check.status >= Status::Warning;
                                       }))
          << trap.name << " on the host of " << other.name;
    }
  }
}

TEST(PortAsTwo, IsToldOnceAndOfTheHalfThatIsNotUsed) {
  const Checks checks = examined(host_with("port-as-two"));
  EXPECT_EQ(find_check(checks, "nic.halves", "enP2p1s0f0np0").status, Status::Warning);
  EXPECT_EQ(std::ranges::count(checks, "nic.halves", &Check::id), 1) << "the other port is down";
}

fakes::HostTree with_both_halves() {
  fakes::HostTree tree = host_with("port-as-two");
  tree.write("/chokepoint/ethtool.json",
             R"({"enp1s0f0np0": {"addresses": ["198.51.100.7/25"]},
                 "enP2p1s0f0np0": {"addresses": ["198.51.100.207/25"]}})");
  return tree;
}

TEST(PortAsTwo, IsWellWhereBothHalvesAreUsed) {
  const Checks checks = examined(with_both_halves());
  EXPECT_EQ(worst_of(checks, "nic.halves").status, Status::Pass);
  EXPECT_EQ(worst_of(checks, "pci.bandwidth").status, Status::Info)
      << "half of the port by each is no fault then";
}

TEST(PortAsTwo, IsSeenWhereNcclIsToldOfOneHalf) {
  const fakes::HostTree tree = with_both_halves();
  tree.write("/proc/self/environ", "NCCL_IB_HCA=rocep1s0f0");
  const Check check = worst_of(examined(tree), "nic.halves");
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_NE(check.found.find("NCCL_IB_HCA=rocep1s0f0"), std::string::npos);
  tree.write("/proc/self/environ", "NCCL_IB_HCA==rocep1s0f0:1,roceP2p1s0f0:1");
  EXPECT_EQ(worst_of(examined(tree), "nic.halves").status, Status::Pass);
  tree.write("/proc/self/environ", "NCCL_IB_HCA=roce");
  EXPECT_EQ(worst_of(examined(tree), "nic.halves").status, Status::Pass) << "a prefix of both";
  tree.write("/proc/self/environ", "NCCL_IB_HCA=^roceP2");
  EXPECT_EQ(worst_of(examined(tree), "nic.halves").status, Status::Warning);
}

TEST(BondOneMember, IsNotSeenWhereTheHashSpreadsOrLittleWasSent) {
  const std::string folder = "/sys/class/net/eth1/statistics/";
  const fakes::HostTree tree = host_with("bond-one-member");
  tree.write(folder + "tx_bytes", "400000000000");
  EXPECT_EQ(worst_of(examined(tree), "nic.bond").status, Status::Info) << "the hash alone";
  tree.write(folder + "tx_bytes", "1200000");
  tree.write(folder + "tx_packets", "1000");
  tree.write("/sys/class/net/eth0/statistics/tx_packets", "400000");
  EXPECT_EQ(worst_of(examined(tree), "nic.bond").status, Status::Info) << "too little to tell";
}

TEST(BondOneMember, IsToldOfFewFlowsWhereTheHashIsRight) {
  const fakes::HostTree tree = host_with("bond-one-member");
  tree.write("/sys/class/net/bond0/bonding/xmit_hash_policy", "layer3+4 1");
  const Check check = worst_of(examined(tree), "nic.bond");
  EXPECT_EQ(check.status, Status::Warning);
  EXPECT_NE(check.next_step.find("NCCL_NSOCKS_PERTHREAD"), std::string::npos);
}

TEST(NoPeerToPeer, IsNotSeenByWhoMayNotReadTheBridges) {
  const fakes::HostTree tree = host_with("no-peer-to-peer");
  for (const char* bridge : {"0000:00:01.0", "0000:01:00.0", "0000:02:00.0", "0000:02:01.0"}) {
    tree.write(fmt::format("/sys/bus/pci/devices/{}/config", bridge), std::string(64, '\0'));
  }
  const Check check = worst_of(examined(tree), "gpu.peer-path");
  EXPECT_EQ(check.status, Status::Pass);
  EXPECT_NE(check.found.find("without root"), std::string::npos);
}

TEST(SmallShm, IsSeenWhereItIsFullOrNotThere) {
  const auto shared = [](std::vector<host::Mount> mounts) {
    Checks checks;
    check_shared_memory(mounts, checks);
    return checks.empty() ? Check{.id = "none"} : checks.front();
  };
  const host::Mount root{.point = "/", .type = "overlay"};
  host::Mount shm{.point = "/dev/shm", .type = "tmpfs"};
  EXPECT_EQ(shared({root, shm}).status, Status::Pass) << "half of the memory, by the kernel's rule";
  shm.size_bytes = kGibibyte;
  EXPECT_EQ(shared({root, shm}).status, Status::Pass);
  shm.free_bytes = kGibibyte / 32;
  EXPECT_EQ(shared({root, shm}).status, Status::Warning);
  EXPECT_EQ(shared({root}).found, "nothing is mounted at /dev/shm");
  EXPECT_EQ(shared({root}).status, Status::Warning);
  EXPECT_EQ(shared({}).id, "none") << "not read";
}

TEST(JumboOverTunnel, IsNotSeenWhereTheHeadersFit) {
  const fakes::HostTree tree = host_with("jumbo-over-tunnel");
  tree.write("/sys/class/net/flannel.1/mtu", "8950");
  EXPECT_FALSE(has_check(examined(tree), "host.mtu-mismatch"));
}

TEST(BridgeChosen, IsCriticalWhereItIsTheOnlyOne) {
  const fakes::HostTree tree = host_with("bridge-chosen");
  tree.write("/proc/self/environ", "NCCL_SOCKET_IFNAME=br");
  EXPECT_EQ(worst_of(examined(tree), "names.nccl-interface").status, Status::Critical);
}

TEST(BridgeChosen, IsNotSeenWhereTheBridgeHasAPort) {
  const fakes::HostTree tree = host_with("bridge-chosen");
  tree.link("/sys/class/net/br-4f1c2d3e5a6b/lower_eth0",
            "../../../pci0000:00/0000:00:01.1/0000:21:00.0/net/eth0");
  EXPECT_EQ(worst_of(examined(tree), "names.nccl-interface").status, Status::Info);
}

TEST(ClockDrift, IsOrdinaryUpToAHundredPpm) {
  const auto status = [](double ppm) {
    Checks checks;
    host::Timekeeping time;
    time.correction_ppm = ppm;
    check_time(time, checks);
    return worst_of(checks, "time.drift").status;
  };
  EXPECT_EQ(status(-30), Status::Pass);
  EXPECT_EQ(status(150), Status::Info);
  EXPECT_EQ(status(500), Status::Warning);
}

}  // namespace
}  // namespace chokepoint::probe
