#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/collective/nccl/nccl.h"

namespace chokepoint::probe::collective::nccl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kSockets =
    "a:9:9 [0] NCCL INFO Bootstrap : Using eth9:10.9.0.1<0>\n"
    "a:9:9 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> [1]eth1:fd00::1%eth1<0>\n"
    "a:9:9 [0] NCCL INFO Using network Socket\n"
    "a:9:9 [0] NCCL INFO 04 coll channels, 04 collnet channels, 0 nvls channels, 4 p2p channels\n"
    "a:9:9 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/Socket/1\n"
    "a:9:9 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/1\n"
    "a:9:9 [0] NCCL INFO NET/Socket: Using 4 threads and 2 sockets per thread\n";

TEST(NcclLog, TellsOfSockets) {
  const LogFacts facts = read_log(kSockets);
  EXPECT_EQ(facts.network, "Socket");
  EXPECT_THAT(facts.devices, ElementsAre("eth0", "eth1"));
  EXPECT_EQ(facts.channels, 4);
  EXPECT_THAT(facts.routes, ElementsAre("NET/Socket"));
  EXPECT_EQ(facts.device, 1);
  EXPECT_FALSE(facts.gpu_direct);
  EXPECT_EQ(facts.socket_threads, 4);
  EXPECT_EQ(facts.sockets_per_thread, 2);
}

TEST(NcclLog, TellsOfInfinibandAndOfGpuDirect) {
  const LogFacts facts = read_log(
      "NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
      "NCCL INFO Using network IB\n"
      "NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/1/GDRDMA\n"
      "NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n"
      "NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n");
  EXPECT_THAT(facts.devices, ElementsAre("mlx5_0", "mlx5_1"));
  EXPECT_THAT(facts.routes, ElementsAre("NET/IB", "P2P/CUMEM"));
  EXPECT_EQ(facts.device, 1);
  EXPECT_TRUE(facts.gpu_direct);
}

TEST(NcclLog, BelievesNoCountThatCannotBe) {
  const LogFacts facts = read_log(
      "NCCL INFO -4 coll channels\n"
      "NCCL INFO NET/Socket: Using 2000000000 threads and -2 sockets per thread\n");
  EXPECT_EQ(facts.channels, std::nullopt);
  EXPECT_EQ(facts.socket_threads, std::nullopt);
  EXPECT_EQ(facts.sockets_per_thread, std::nullopt);
}

TEST(NcclLog, TellsNothingOfWhatIsNoLog) {
  for (const char* text :
       {"", "\n\n", " : Using [0]", "NET/Socket : Using [0]", "NET/IB : Using [0][[[]]]9]",
        "Channel  via ", "Channel 0 via /", "Channel 0 via NET/Socket/x",
        "NCCL INFO x coll channels", "NET/Socket: Using many threads and"}) {
    const LogFacts facts = read_log(text);
    EXPECT_EQ(facts.channels, std::nullopt) << text;
    EXPECT_EQ(facts.device, std::nullopt) << text;
    EXPECT_EQ(facts.socket_threads, std::nullopt) << text;
  }
}

host::RdmaDevice active_device() {
  host::RdmaDevice device;
  device.name = "mlx5_0";
  device.ports.emplace_back().state = "ACTIVE";
  return device;
}

HostNetwork host_with_port(const std::string& name, std::int64_t speed_mbps) {
  HostNetwork host;
  host::Nic nic;
  nic.name = name;
  nic.kind = host::NicKind::Physical;
  nic.carrier = true;
  nic.speed_mbps = speed_mbps;
  host.network.nics.push_back(nic);
  host.addresses.addresses = {{name, net::Address::parse("10.0.0.1").value()}};
  return host;
}

Connection bootstrap() {
  return {.local = {net::Address::parse("10.0.0.1").value(), 1},
          .peer = {net::Address::parse("10.0.0.2").value(), 2}};
}

Seen by_sockets(std::int64_t speed_mbps, const std::string& threads) {
  return {.log = read_log("NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n"
                          "NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0\n" +
                          threads),
          .connections = {bootstrap(), bootstrap(), bootstrap()},
          .ranks = 2,
          .host = host_with_port("eth0", speed_mbps)};
}

TEST(NcclDataPath, IsByTheInterfaceThatItsLogNames) {
  const DataPath data_path =
      data_path_of(by_sockets(10000, "NET/Socket: Using 2 threads and 3 sockets per thread"));
  EXPECT_EQ(data_path.transport, "socket");
  EXPECT_EQ(data_path.interface, "eth0");
  EXPECT_EQ(data_path.family, "ipv4");
  EXPECT_EQ(data_path.link_mbps, 10000);
  EXPECT_EQ(data_path.sockets_per_peer, 6);
  EXPECT_EQ(data_path.better, "");
}

TEST(NcclDataPath, IsNotKnownWhereThereIsNoLog) {
  const DataPath data_path =
      data_path_of({.connections = {bootstrap()}, .host = host_with_port("eth0", 10000)});
  EXPECT_EQ(data_path.transport, "");
  EXPECT_EQ(data_path.interface, "");
  EXPECT_EQ(data_path.sockets_per_peer, std::nullopt);
}

TEST(NcclDataPath, OfOneSocketIsTooFewForAFastLink) {
  EXPECT_THAT(data_path_of(by_sockets(100000, "")).better, HasSubstr("NCCL_SOCKET_NTHREADS=4"));
  EXPECT_THAT(data_path_of(by_sockets(10000, "")).better, IsEmpty());
  EXPECT_THAT(
      data_path_of(by_sockets(100000, "NET/Socket: Using 4 threads and 4 sockets per thread"))
          .better,
      IsEmpty());
}

TEST(NcclDataPath, BySocketsBesideAnActiveRdmaDeviceIsAFallBack) {
  Seen seen = by_sockets(10000, "");
  seen.rdma = {active_device()};
  EXPECT_THAT(data_path_of(seen).better, HasSubstr("mlx5_0 is an active RDMA device"));
}

TEST(NcclDataPath, WithoutGpuDirectPassesTheHostsMemory) {
  Seen seen{.log = read_log("NET/IB : Using [0]mlx5_0:1/RoCE\nChannel 0 : 0 -> 1 via NET/IB/0")};
  EXPECT_EQ(data_path_of(seen).interface, "mlx5_0");
  EXPECT_EQ(data_path_of(seen).transport, "ib");
  EXPECT_THAT(data_path_of(seen).better, HasSubstr("nvidia-peermem"));
  seen.log.gpu_direct = true;
  EXPECT_THAT(data_path_of(seen).better, IsEmpty());
}

TEST(NcclDataPath, OfASharedGpuIsNoMeasure) {
  Seen seen = by_sockets(100000, "");
  seen.shares_gpu = true;
  EXPECT_THAT(data_path_of(seen).better, HasSubstr("share a GPU"));
}

}  // namespace
}  // namespace chokepoint::probe::collective::nccl
