#include "probe/collective/data_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/net/socket.h"

namespace chokepoint::probe::collective {
namespace {

using host::NicKind;
using testing::AllOf;
using testing::HasSubstr;

net::Address address(std::string_view text) { return net::Address::parse(text).value(); }

Connection connection(std::string_view local, std::string_view peer) {
  return {.local = {address(local), 40000}, .peer = {address(peer), 50000}};
}

struct MadeNic {
  std::string name;
  NicKind kind = NicKind::Physical;
  std::optional<std::int64_t> speed_mbps = {};
  std::string address = {};
  bool up = true;
};

HostNetwork made_host(const std::vector<MadeNic>& nics) {
  HostNetwork host;
  host.addresses.addresses.emplace();
  for (const MadeNic& each : nics) {
    host::Nic nic;
    nic.name = each.name;
    nic.kind = each.kind;
    nic.carrier = each.up;
    nic.speed_mbps = each.speed_mbps;
    host.network.nics.push_back(nic);
    if (!each.address.empty()) {
      host.addresses.addresses->push_back({each.name, address(each.address)});
    }
  }
  return host;
}

const MadeNic loopback{"lo", NicKind::Loopback, {}, "127.0.0.1"};
const MadeNic slow{"eno1", NicKind::Physical, 1000, "10.0.0.1"};
const MadeNic fast{"ens3", NicKind::Physical, 100000, "10.1.0.1"};

TEST(DataPath, IsThatOfMostConnections) {
  const HostNetwork host = made_host({loopback, slow, fast});
  const DataPath data_path =
      data_path_of_sockets({connection("10.0.0.1", "10.0.0.2"), connection("10.1.0.1", "10.1.0.2"),
                            connection("10.1.0.1", "10.1.0.3")},
                           3, host, gloo_hints());
  EXPECT_EQ(data_path.transport, "tcp");
  EXPECT_EQ(data_path.interface, "ens3,eno1");
  EXPECT_EQ(data_path.link_mbps, 100000);
  EXPECT_EQ(data_path.sockets_per_peer, 1);
}

TEST(DataPath, IsNotKnownWithoutAConnection) {
  const DataPath data_path = data_path_of_sockets({}, 1, made_host({slow}), gloo_hints());
  EXPECT_EQ(data_path.transport, "");
  EXPECT_EQ(data_path.sockets_per_peer, std::nullopt);
  EXPECT_EQ(data_path.link_mbps, std::nullopt);
}

TEST(DataPath, IsLoopbackWhereThePeerIsThisHostByAnyAddress) {
  const DataPath data_path = data_path_of_sockets({connection("10.0.0.1", "10.0.0.1")}, 2,
                                                  made_host({loopback, slow, fast}), gloo_hints());
  EXPECT_EQ(data_path.interface, "lo");
  EXPECT_EQ(data_path.better, "");
}

TEST(DataPath, HasTheFamilyOfItsAddresses) {
  const HostNetwork host = made_host({{"ens3", NicKind::Physical, 10000, "fd00::1"}});
  const DataPath data_path =
      data_path_of_sockets({connection("fd00::1", "fd00::2")}, 2, host, gloo_hints());
  EXPECT_EQ(data_path.family, "ipv6");
  EXPECT_EQ(data_path.local_address, "fd00::1");
  EXPECT_EQ(data_path.interface, "ens3");
}

TEST(BetterWay, IsAFasterInterface) {
  const HostNetwork host = made_host({loopback, slow, fast});
  EXPECT_THAT(better_than("eno1", host, gloo_hints()),
              AllOf(HasSubstr("ens3 at 100000 Mb/s"), HasSubstr("GLOO_SOCKET_IFNAME=ens3 ")));
  EXPECT_THAT(better_than("eno1", host, nccl_hints()), HasSubstr("NCCL_SOCKET_IFNAME==ens3 "));
  EXPECT_EQ(better_than("ens3", host, gloo_hints()), "");
}

TEST(BetterWay, IsNoneThatIsDownOrHasNoAddressOrIsNoHardware) {
  for (const MadeNic& other : {MadeNic{"ens3", NicKind::Physical, 100000, "10.1.0.1", false},
                               MadeNic{"ens3", NicKind::Physical, 100000, ""},
                               MadeNic{"ens3", NicKind::Physical, 100000, "fe80::1%lo"},
                               MadeNic{"ens3", NicKind::Physical, {}, "10.1.0.1"},
                               MadeNic{"tap0", NicKind::Virtual, 100000, "10.1.0.1"},
                               MadeNic{"veth0", NicKind::Veth, 100000, "10.1.0.1"}}) {
    EXPECT_EQ(better_than("eno1", made_host({loopback, slow, other}), gloo_hints()), "");
  }
}

TEST(BetterWay, IsAPortInsteadOfABridge) {
  const HostNetwork host =
      made_host({{"docker0", NicKind::Bridge, 10000, "172.17.0.1"}, loopback, slow});
  EXPECT_THAT(better_than("docker0", host, gloo_hints()),
              AllOf(HasSubstr("docker0 is a bridge"), HasSubstr("GLOO_SOCKET_IFNAME=eno1 ")));
}

TEST(BetterWay, IsNotSoughtForWhatIsUnknown) {
  EXPECT_EQ(better_than("gone0", made_host({slow}), gloo_hints()), "");
  const HostNetwork host = made_host({{"ens1", NicKind::Physical, {}, "10.0.0.1"}, fast});
  EXPECT_EQ(better_than("ens1", host, gloo_hints()), "");
}

TEST(Connections, AreThoseThatCameUpSince) {
  const net::Endpoint any{address("127.0.0.1"), 0};
  const auto listener = net::listen(any, 4, {}).value();
  const net::Endpoint at = net::local_endpoint(listener.get()).value();
  const auto deadline = net::Deadline::of(std::chrono::seconds(5));
  const auto earlier = net::connect(at, {}, deadline).value();
  const ConnectionsSince since;
  EXPECT_TRUE(since.now().empty());

  const auto later = net::connect(at, {}, deadline).value();
  const std::vector<Connection> found = since.now();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].peer, at);
  EXPECT_EQ(found[0].local, net::local_endpoint(later.get()).value());
}

}  // namespace
}  // namespace chokepoint::probe::collective
