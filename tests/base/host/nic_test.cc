#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/host/network.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

Nic read(const fakes::HostTree& tree, const std::string& name) {
  const sys::Root root = tree.root();
  return read_nic(root, *link_query_for(root), read_interrupts(root), name);
}

TEST(Nic, ReadsAPort) {
  const Nic nic = read(fakes::HostTree::from_fixture("e810-gen3-x8"), "enp3s0np0");
  EXPECT_EQ(nic.kind, NicKind::Physical);
  EXPECT_EQ(nic.enabled, true);
  EXPECT_EQ(nic.carrier, true);
  EXPECT_EQ(nic.operstate, "up");
  EXPECT_EQ(nic.speed_mbps, 100'000);
  EXPECT_EQ(nic.duplex, "full");
  EXPECT_EQ(nic.mtu, 9000);
  EXPECT_EQ(nic.hardware_address, "b4:96:91:c2:10:40");
  EXPECT_EQ(nic.driver, "ice");
  EXPECT_EQ(nic.numa_node, 0);
  ASSERT_TRUE(nic.pci);
  EXPECT_EQ(nic.pci->address, "0000:03:00.0");
  EXPECT_EQ(nic.rx_queues, 2);
  EXPECT_EQ(nic.rps_queues, 0);
  EXPECT_EQ(nic.xps_queues, 2);
  EXPECT_EQ(counter(nic, "rx_packets"), 402118443);
  EXPECT_EQ(counter(nic, "carrier_changes"), 2);
  EXPECT_EQ(counter(nic, "no_such_counter"), std::nullopt);
  EXPECT_EQ(nic.settings.driver->driver, "ice");
  ASSERT_EQ(nic.interrupts.size(), 8);
  EXPECT_EQ(nic.interrupts[1].cpus, CpuSet{2});
  EXPECT_TRUE(is_port(nic));
  EXPECT_TRUE(is_up(nic));
  EXPECT_TRUE(has_address(nic));
}

TEST(Nic, InterruptsThatServeNoQueueAreLeftOut) {
  const auto tree = fakes::HostTree::from_fixture("e810-gen3-x8");
  const std::string folder = "/sys/bus/pci/devices/0000:03:00.0/msi_irqs/";
  tree.write(folder + "200", "msix\n");
  tree.write("/proc/interrupts",
             "  120:  7  IR-PCI-MSI 1-edge  ice-enp3s0np0-TxRx-0\n"
             "  200:  7  IR-PCI-MSI 1-edge  ice-0000:03:00.0:misc\n");
  const Nic nic = read(tree, "enp3s0np0");
  ASSERT_EQ(nic.interrupts.size(), 1);
  EXPECT_EQ(nic.interrupts[0].number, 120);
}

TEST(Nic, APortWithoutALinkHasNoSpeed) {
  const Nic nic = read(fakes::HostTree::from_fixture("bond-and-rails"), "eth1");
  EXPECT_EQ(nic.speed_mbps, std::nullopt);
  EXPECT_EQ(nic.duplex, std::nullopt);
  EXPECT_EQ(nic.master, "bond0");
  EXPECT_FALSE(is_up(nic));
}

TEST(Nic, ReadsABond) {
  const Nic nic = read(fakes::HostTree::from_fixture("bond-and-rails"), "bond0");
  EXPECT_EQ(nic.kind, NicKind::Bond);
  ASSERT_TRUE(nic.bond);
  EXPECT_EQ(nic.bond->mode, "802.3ad");
  EXPECT_EQ(nic.bond->hash_policy, "layer2");
  EXPECT_EQ(nic.bond->members, (std::vector<std::string>{"eth0", "eth1"}));
  EXPECT_EQ(nic.lower, (std::vector<std::string>{"eth0", "eth1"}));
  EXPECT_FALSE(nic.pci);
}

TEST(Nic, KnowsTheKindsThatAreNoPorts) {
  const auto tree = fakes::HostTree::from_fixture("clean-25g");
  EXPECT_EQ(read(tree, "lo").kind, NicKind::Loopback);
  EXPECT_EQ(read(tree, "docker0").kind, NicKind::Bridge);
  EXPECT_EQ(read(tree, "veth3a").kind, NicKind::Veth);
  EXPECT_EQ(read(tree, "missing").kind, NicKind::Unknown);
}

struct Case {
  const char* tree;
  NicKind kind;
};

TEST(Nic, TellsKindsByWhatSysfsShows) {
  const std::string common = "/sys/class/net/x/ifindex = 3\n/sys/class/net/x/type = 1\n";
  for (const Case& each : {
           Case{"/sys/class/net/x/uevent = DEVTYPE=vlan\\nINTERFACE=x\n", NicKind::Vlan},
           Case{"/sys/class/net/x/uevent = DEVTYPE=wlan\n", NicKind::Wireless},
           Case{"/sys/class/net/x/tun_flags = 0x1002\n", NicKind::Tunnel},
           Case{"/sys/class/net/x/uevent = DEVTYPE=vxlan\n", NicKind::Tunnel},
           Case{"/sys/class/net/x/iflink = 3\n", NicKind::Virtual},
           Case{"/sys/class/net/x/iflink = 9\n", NicKind::Veth},
           Case{"/sys/class/net/x/iflink = 9\n/sys/class/net/x/lower_eth0 -> ../eth0\n",
                NicKind::Virtual},
           Case{"/sys/class/net/x/device/vendor = 0x8086\n", NicKind::Physical},
           Case{"/sys/class/net/x/device/vendor = 0x15b3\n/sys/class/net/x/type = 32\n",
                NicKind::Infiniband},
           Case{"/sys/class/net/x/device/physfn/vendor = 0x8086\n", NicKind::VirtualFunction},
       }) {
    const auto tree = fakes::HostTree::from_text(common + each.tree);
    EXPECT_EQ(name_of(read(tree, "x").kind), name_of(each.kind)) << each.tree;
  }
}

TEST(Nic, AUsbPortIsNotOnItsControllersPci) {
  const std::string folder = "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0/net/idrac/";
  const auto tree = fakes::HostTree::from_text(
      "/sys/class/net/idrac -> ../.." + folder.substr(4, folder.size() - 5) + "\n" + folder +
      "ifindex = 2\n" + folder + "type = 1\n" + folder + "device -> ../../../1-1:1.0\n" +
      "/sys/bus/pci/devices/0000:00:14.0 -> ../../../devices/pci0000:00/0000:00:14.0\n");
  const Nic nic = read(tree, "idrac");
  EXPECT_EQ(name_of(nic.kind), "usb");
  EXPECT_FALSE(nic.pci);
  EXPECT_FALSE(is_port(nic));
}

TEST(Nic, AHypervisorsPortIsTold) {
  const auto tree = fakes::HostTree::from_text(
      "/sys/class/net/eth0 -> ../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0\n"
      "/sys/devices/pci0000:00/0000:00:03.0/virtio2/net/eth0/ifindex = 2\n"
      "/sys/devices/pci0000:00/0000:00:03.0/virtio2/net/eth0/type = 1\n"
      "/sys/devices/pci0000:00/0000:00:03.0/virtio2/net/eth0/speed = -1\n"
      "/sys/devices/pci0000:00/0000:00:03.0/virtio2/net/eth0/device -> ../../../virtio2\n"
      "/sys/bus/pci/devices/0000:00:03.0 -> ../../../devices/pci0000:00/0000:00:03.0\n");
  const Nic nic = read(tree, "eth0");
  EXPECT_EQ(nic.kind, NicKind::Paravirtual);
  EXPECT_EQ(nic.speed_mbps, std::nullopt);
  ASSERT_TRUE(nic.pci);
  EXPECT_EQ(nic.pci->address, "0000:00:03.0");
}

TEST(Nic, HasTheIdOfItsCard) {
  const Nic nic = read(fakes::HostTree::from_fixture("trap-port-as-two"), "enP2p1s0f0np0");
  EXPECT_EQ(nic.rdma_device, "roceP2p1s0f0");
  EXPECT_EQ(nic.card_id, "fc4c:ea03:00f9:4230");
}

TEST(Nic, HasAnotherHalfBehindAnotherLinkAlone) {
  const auto tree = fakes::HostTree::from_fixture("trap-port-as-two");
  const Network network = read_network(tree.root());
  const Nic* half = other_half(network, *find(network, "enp1s0f0np0"));
  ASSERT_NE(half, nullptr);
  EXPECT_EQ(half->name, "enP2p1s0f0np0");
  EXPECT_EQ(other_half(network, *half)->name, "enp1s0f0np0");
  tree.write("/sys/class/infiniband/roceP2p1s0f0/sys_image_guid", "fc4c:ea03:00f9:9999");
  const Network others = read_network(tree.root());
  EXPECT_EQ(other_half(others, *find(others, "enp1s0f0np0")), nullptr) << "two cards";
}

TEST(Nic, ATunnelHasHeaders) {
  const auto headers = [](const char* type, const char* link) {
    const auto tree = fakes::HostTree::from_text(
        fmt::format("/sys/class/net/t/ifindex = 7\n/sys/class/net/t/type = {}\n"
                    "/sys/class/net/t/uevent <<END\nDEVTYPE={}\nINTERFACE=t\nEND\n",
                    link, type));
    const Nic nic = read(tree, "t");
    return nic.kind == NicKind::Tunnel ? nic.header_bytes : std::nullopt;
  };
  EXPECT_EQ(headers("vxlan", "1"), 50);
  EXPECT_EQ(headers("geneve", "1"), 50);
  EXPECT_EQ(headers("wireguard", "65534"), 60);
  EXPECT_EQ(headers("", "778"), 24) << "GRE";
  EXPECT_EQ(headers("", "768"), 20) << "IPIP";
  EXPECT_EQ(headers("", "1"), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::host
