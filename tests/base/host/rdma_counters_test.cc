#include "base/host/rdma_counters.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/host/rdma.h"
#include "tests/fakes/host_tree.h"

namespace chokepoint::host {
namespace {

using testing::Optional;

std::optional<std::uint64_t> read(const sys::Root& root, const std::string& device,
                                  std::string_view name) {
  for (const RdmaCounter& each : find_rdma_counters(root, device, 1)) {
    if (each.name == name) {
      return *read_raw(root, each) * each.unit;
    }
  }
  return std::nullopt;
}

TEST(RdmaCounterNames, OfSeveralDriversMeanTheSame) {
  EXPECT_EQ(rdma_counter_name("np_cnp_sent").common, "cnp_sent");
  EXPECT_EQ(rdma_counter_name("cnpSent").common, "cnp_sent");
  EXPECT_EQ(rdma_counter_name("out_of_seq_request").common, "out_of_sequence");
  EXPECT_EQ(rdma_counter_name("something_else").common, "something_else");
}

TEST(RdmaCounterNames, BothEndsOfOneEventAreToldApart) {
  EXPECT_EQ(rdma_counter_name("rcvd_rnr_err").common, "rnr_retries");
  EXPECT_EQ(rdma_counter_name("send_rnr_err").common, "rnr_sent");
  EXPECT_EQ(rdma_counter_name("rcvd_seq_err").common, "packet_seq_err");
  EXPECT_EQ(rdma_counter_name("out_of_seq_request").common, "out_of_sequence");
}

TEST(RdmaCounters, OfMlx5InBytes) {
  const auto host = fakes::HostTree::from_fixture("rdma-mlx5");
  EXPECT_THAT(read(host.root(), "mlx5_0", "sent_bytes"), Optional(40'000'000'000));
  EXPECT_THAT(read(host.root(), "mlx5_0", "packet_seq_err"), Optional(17));
  EXPECT_THAT(read(host.root(), "mlx5_0", "ack_timeouts"), Optional(5));
  EXPECT_THAT(read(host.root(), "mlx5_0", "lifespan"), std::nullopt);
}

TEST(RdmaCounters, OfIrdmaAreSumsOfBothFamilies) {
  const auto host = fakes::HostTree::from_fixture("rdma-irdma");
  EXPECT_THAT(read(host.root(), "rocep24s0", "sent_bytes"), Optional(7'002'000));
  EXPECT_THAT(read(host.root(), "rocep24s0", "received_packets"), Optional(5'010));
  EXPECT_THAT(read(host.root(), "rocep24s0", "retransmissions"), Optional(9));
}

TEST(RdmaCounters, OfBnxtAndRxe) {
  const auto bnxt = fakes::HostTree::from_fixture("rdma-bnxt");
  EXPECT_THAT(read(bnxt.root(), "bnxt_re0", "ack_timeouts"), Optional(2));
  EXPECT_THAT(read(bnxt.root(), "bnxt_re0", "out_of_sequence"), Optional(4));
  const auto rxe = fakes::HostTree::from_fixture("rdma-rxe");
  EXPECT_THAT(read(rxe.root(), "rxe0", "sent_packets"), Optional(15'000));
  EXPECT_THAT(read(rxe.root(), "rxe0", "retransmissions"), Optional(12));
  EXPECT_THAT(read(rxe.root(), "rxe0", "sent_bytes"), std::nullopt);
}

TEST(RdmaCounters, APortsOwnFolderHoldsWhereBothTellOfBytes) {
  const auto host = fakes::HostTree::from_text(
      "/sys/class/infiniband/bnxt_re0/ports/1/counters/port_xmit_data = 10\n"
      "/sys/class/infiniband/bnxt_re0/ports/1/hw_counters/tx_bytes = 99\n"
      "/sys/class/infiniband/bnxt_re0/ports/1/hw_counters/ip4OutOctets = 99\n");
  EXPECT_THAT(read(host.root(), "bnxt_re0", "sent_bytes"), Optional(40));
}

TEST(RdmaCounters, OfTheDeviceItself) {
  const auto host =
      fakes::HostTree::from_text("/sys/class/infiniband/efa_0/hw_counters/retrans_pkts = 3\n");
  const auto found = find_rdma_counters(host.root(), "efa_0");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "retransmissions");
  EXPECT_TRUE(find_rdma_counters(host.root(), "efa_0", 1).empty());
}

TEST(RdmaCounters, WhatIsNoNumberIsNotKnown) {
  const auto host = fakes::HostTree::from_text(
      "/sys/class/infiniband/x/ports/1/hw_counters/retrans_pkts = N/A\n");
  EXPECT_EQ(read_raw(host.root(), find_rdma_counters(host.root(), "x", 1).at(0)), std::nullopt);
}

TEST(RdmaCounters, GrowthPastThirtyTwoBitsAndAfterABeginning) {
  EXPECT_THAT(growth_of(5, 8), Optional(3));
  EXPECT_THAT(growth_of(4'294'967'290, 4), Optional(10));
  EXPECT_EQ(growth_of(100, 4), std::nullopt) << "the driver was loaded anew";
  EXPECT_EQ(growth_of(std::uint64_t{1} << 40, 4), std::nullopt);
}

TEST(RdmaPorts, TheInterfaceWhoseDriverCounts) {
  EXPECT_EQ(netdev_of_port(fakes::HostTree::from_fixture("rdma-mlx5").root(), "mlx5_0", 1),
            "enp59s0np0");
  EXPECT_EQ(netdev_of_port(fakes::HostTree::from_fixture("rdma-rxe").root(), "rxe0", 1), "eth0");
  const auto two = fakes::HostTree::from_text(
      "/sys/class/infiniband/mlx4_0/device/net/eth2/mtu = 1500\n"
      "/sys/class/infiniband/mlx4_0/device/net/eth3/mtu = 1500\n"
      "/sys/class/net/eth2/dev_port = 1\n"
      "/sys/class/net/eth3/dev_port = 0\n");
  EXPECT_EQ(netdev_of_port(two.root(), "mlx4_0", 2), "eth2");
  EXPECT_EQ(netdev_of_port(two.root(), "mlx4_0", 3), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::host
