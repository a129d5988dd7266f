#include "rdma/fabric/counters.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/fakes/host_tree.h"

namespace chokepoint::rdma::fabric {
namespace {

using testing::Contains;
using testing::Optional;

PortCounters read(const fakes::HostTree& host, const std::string& device) {
  return read_counters(host.root(), device, 1, *host::link_query_for(host.root()));
}

TEST(ReadCounters, OfTheDeviceAndOfTheInterfaceUnderIt) {
  const auto host = fakes::HostTree::from_fixture("rdma-mlx5");
  const PortCounters counters = read(host, "mlx5_0");
  EXPECT_EQ(counters.subject, "mlx5_0/1");
  EXPECT_EQ(counters.netdev, "enp59s0np0");
  const Changes still = changes(counters, counters);
  EXPECT_THAT(still.of("packet_seq_err"), Optional(0));
  EXPECT_THAT(still.of("received_pauses"), Optional(0));
  EXPECT_EQ(still.of("retransmissions"), std::nullopt) << "mlx5 has no such counter";
}

TEST(ReadCounters, WhatGrewInBetween) {
  const auto host = fakes::HostTree::from_fixture("rdma-mlx5");
  const PortCounters before = read(host, "mlx5_0");
  const std::string port = "/sys/class/infiniband/mlx5_0/ports/1/";
  host.write(port + "hw_counters/out_of_sequence", "4\n");
  host.write(port + "counters/port_xmit_data", "10000000025\n");
  host.write(port + "hw_counters/np_cnp_sent", "7\n");
  host.remove(port + "hw_counters/packet_seq_err");
  const Changes grown = changes(before, read(host, "mlx5_0"));
  EXPECT_THAT(grown.of("out_of_sequence"), Optional(10)) << "past its 32 bits";
  EXPECT_THAT(grown.of("sent_bytes"), Optional(100));
  EXPECT_EQ(grown.of("cnp_sent"), std::nullopt) << "began anew";
  EXPECT_THAT(grown.lost, Contains("packet_seq_err"));
  EXPECT_TRUE(std::ranges::is_sorted(grown.still));
}

TEST(ReadCounters, OfADeviceThatIsNotThere) {
  const auto host = fakes::HostTree::from_text("/sys/class/infiniband/\n");
  EXPECT_TRUE(read(host, "mlx5_9").counters.empty());
}

using control::Json;

Json sound() {
  return body_of({.subject = "mlx5_0/1",
                  .netdev = "eth0",
                  .grown = {{"sent_bytes", UINT64_MAX}},
                  .still = {"packet_seq_err"},
                  .lost = {"cnp_sent"}});
}

TEST(Changes, TravelWhole) {
  const Result<Changes> read = changes_in(sound());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->subject, "mlx5_0/1");
  EXPECT_EQ(read->netdev, "eth0");
  EXPECT_EQ(read->of("sent_bytes"), UINT64_MAX);
  EXPECT_EQ(read->of("packet_seq_err"), 0U);
  EXPECT_EQ(read->of("cnp_sent"), std::nullopt);
}

TEST(Changes, OfAHostilePeerAreRefused) {
  const auto refused = [](const char* key, Json value) {
    Json body = sound();
    body[key] = std::move(value);
    return !changes_in(body);
  };
  EXPECT_TRUE(refused("subject", 5));
  EXPECT_TRUE(refused("subject", std::string(65, 'x')));
  EXPECT_TRUE(refused("grown", Json::array()));
  EXPECT_TRUE(refused("grown", {{"sent_bytes", -1}}));
  EXPECT_TRUE(refused("grown", {{"sent_bytes", 0.5}}));
  EXPECT_TRUE(refused("grown", {{"\x1b[2J", 1}}));
  EXPECT_TRUE(refused("still", {{"a", 1}}));
  EXPECT_TRUE(refused("still", Json::array({std::string(65, 'x')})));
  EXPECT_TRUE(refused("lost", Json::array({"line\nend"})));
  EXPECT_TRUE(refused("lost", nullptr));
  EXPECT_TRUE(refused("lost", std::vector<std::string>(513, "a")));
  Json many;
  for (int i = 0; i < 513; ++i) {
    many[std::to_string(i)] = 1;
  }
  EXPECT_TRUE(refused("grown", many));
  EXPECT_FALSE(changes_in(Json::array()));
}

}  // namespace

}  // namespace chokepoint::rdma::fabric
