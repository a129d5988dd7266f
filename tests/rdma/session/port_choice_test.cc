#include "rdma/session/port_choice.h"

#include <gtest/gtest.h>

#include "tests/fakes/golden.h"

namespace chokepoint::rdma::session {
namespace {

using host::RdmaDevice;
using host::RdmaGid;
using host::RdmaPort;

net::Address address(const std::string& text) { return net::Address::parse(text).value(); }

RdmaGid gid(int index, const std::string& text, const std::string& type = "RoCE v2") {
  return {.index = index, .address = address(text), .type = type, .netdev = {}};
}

// A port of RoCE with what the kernel makes by itself: a link-local address and one of IPv4, each
// in both versions.
RdmaPort roce_port(const std::string& netdev, const std::string& ipv4) {
  return {.number = 1,
          .state = "ACTIVE",
          .physical = "LinkUp",
          .link_layer = "Ethernet",
          .rate = "100 Gb/sec (4X EDR)",
          .netdev = netdev,
          .netdev_mtu_bytes = 9000,
          .active_mtu_bytes = {},
          .gids = {gid(0, "fe80::1", "IB/RoCE v1"), gid(1, "fe80::1"),
                   gid(2, "::ffff:" + ipv4, "IB/RoCE v1"), gid(3, "::ffff:" + ipv4),
                   gid(5, "2001:db8::7")}};
}

RdmaDevice device(const std::string& name, RdmaPort port) {
  return {.name = name,
          .firmware = {},
          .pci_address = "0000:03:00.0",
          .numa_node = 1,
          .pci = host::PciDevice{},
          .ports = {std::move(port)}};
}

class ChoosePortTest : public testing::Test {
 protected:
  Result<PortChoice> choose(const PortRequest& wish = {}, const std::string& from = "10.0.0.2",
                            const std::string& netdev = "") const {
    return choose_port(devices_, wish, {.address = address(from), .netdev = netdev});
  }
  std::string refusal(const PortRequest& wish = {}, const std::string& from = "10.0.0.2") const {
    const Result<PortChoice> choice = choose(wish, from);
    return choice ? "a choice" : describe(choice.error());
  }

  std::vector<RdmaDevice> devices_ = {device("mlx5_0", roce_port("eth0", "10.0.0.1")),
                                      device("mlx5_1", roce_port("eth1", "10.0.0.2"))};
};

TEST_F(ChoosePortTest, ThePortThatHasTheControlConnectionsAddressIsTaken) {
  const Result<PortChoice> choice = choose();
  ASSERT_TRUE(choice) << describe(choice.error());
  EXPECT_EQ(choice->device, "mlx5_1");
  EXPECT_EQ(choice->netdev, "eth1");
  EXPECT_EQ(choice->gid_index, 3) << "RoCE v2 of that address";
  EXPECT_EQ(choice->numa_node, 1);
}

TEST_F(ChoosePortTest, AnAddressWithoutAGidIsFoundByItsInterface) {
  const Result<PortChoice> choice = choose({}, "192.0.2.9", "eth0");
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->device, "mlx5_0");
  EXPECT_EQ(choice->gid_index, 3) << "IPv4 as the control connection";
}

TEST_F(ChoosePortTest, IPv6BringsAGidOfIPv6) {
  const Result<PortChoice> choice = choose({.device = "mlx5_0"}, "2001:db8::9");
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->gid_index, 5);
}

TEST_F(ChoosePortTest, LinkLocalIsTakenWhereNothingElseIs) {
  devices_.resize(1);
  devices_[0].ports[0].gids.resize(2);
  ASSERT_TRUE(choose());
  EXPECT_EQ(choose()->gid_index, 1);
}

TEST_F(ChoosePortTest, WhenNothingBelongsToTheAddressTheOnlyActivePortIsTaken) {
  devices_[0].ports[0].state = "DOWN";
  const Result<PortChoice> choice = choose({}, "127.0.0.1");
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->device, "mlx5_1");
}

TEST_F(ChoosePortTest, SeveralThatMightBeMeantAreNamed) {
  EXPECT_EQ(choose({}, "127.0.0.1").error().kind, ErrorKind::Usage);
}

TEST_F(ChoosePortTest, TheUserNamesADevice) {
  const Result<PortChoice> choice = choose({.device = "mlx5_0"}, "127.0.0.1");
  ASSERT_TRUE(choice);
  EXPECT_EQ(choice->device, "mlx5_0");
  EXPECT_EQ(choose({.device = "mlx4_9"}).error().kind, ErrorKind::NotFound);
  EXPECT_EQ(choose({.device = "mlx5_0", .port = 2}).error().kind, ErrorKind::NotFound);
}

TEST_F(ChoosePortTest, PictureOfRefusals) {
  fakes::Sentences sentences;
  sentences.add("several ports", refusal({}, "127.0.0.1"));
  sentences.add("no such device", refusal({.device = "mlx4_9"}));
  sentences.add("no such port", refusal({.device = "mlx5_0", .port = 2}));
  sentences.add("no such GID", refusal({.gid_index = 9}));
  const std::vector<RdmaDevice> whole = devices_;
  devices_[1].ports[0].gids = {gid(3, "::ffff:10.0.0.2")};
  sentences.add("no GID of the version", refusal({.type = verbs::GidType::RoceV1}));
  sentences.add("no GID of the family", refusal({.family = net::Family::Ipv6}));
  devices_ = whole;
  devices_[1].ports[0].state = "DOWN";
  sentences.add("a port that is down", refusal());
  sentences.add("a device whose port is down", refusal({.device = "mlx5_1"}));
  devices_[1].ports[0].link_layer = "InfiniBand";
  sentences.add("a port of InfiniBand that is down", refusal());
  devices_.clear();
  sentences.add("no device", refusal());
  EXPECT_GOLDEN("sentences_rdma_ports", sentences.text());
}

TEST_F(ChoosePortTest, APortThatIsDownIsUnreachable) {
  devices_[1].ports[0].state = "DOWN";
  EXPECT_EQ(choose().error().kind, ErrorKind::Unreachable);
}

TEST_F(ChoosePortTest, AGidIndexIsTakenAsItIsOrRefused) {
  EXPECT_EQ(choose({.gid_index = 0})->gid_index, 0);
  EXPECT_EQ(choose({.gid_index = 9}).error().kind, ErrorKind::Usage);
}

TEST_F(ChoosePortTest, VersionAndFamilyThatWereAskedForAreKept) {
  EXPECT_EQ(choose({.type = verbs::GidType::RoceV1})->gid_index, 2);
  EXPECT_EQ(choose({.family = net::Family::Ipv6})->gid_index, 5);
  devices_[1].ports[0].gids = {gid(3, "::ffff:10.0.0.2")};
  EXPECT_FALSE(choose({.type = verbs::GidType::RoceV1}));
  EXPECT_FALSE(choose({.family = net::Family::Ipv6}));
}

TEST_F(ChoosePortTest, InfiniBandsGidsAreOfNoFamily) {
  devices_.resize(1);
  devices_[0].ports[0].link_layer = "InfiniBand";
  devices_[0].ports[0].gids = {gid(0, "fe80::2", "IB/RoCE v1")};
  const Result<PortChoice> choice =
      choose({.family = net::Family::Ipv4, .type = verbs::GidType::RoceV2});
  ASSERT_TRUE(choice) << describe(choice.error());
  EXPECT_EQ(choice->gid_index, 0);
}

TEST_F(ChoosePortTest, TheRateOfAnEmulatedDeviceIsNotTold) {
  EXPECT_EQ(choose()->rate, "100 Gb/sec (4X EDR)");
  devices_[1].pci.reset();
  EXPECT_EQ(choose()->rate, "");
}

}  // namespace
}  // namespace chokepoint::rdma::session
