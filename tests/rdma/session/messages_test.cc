// The messages of both ends: over round.cc and side.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rdma/session/round.h"
#include "rdma/session/side.h"

namespace chokepoint::rdma::session {
namespace {

using control::Json;
using testing::HasSubstr;

verbs::Gid gid(const std::string& text) { return gid_of(net::Address::parse(text).value()); }

SideAddresses somewhere() {
  SideAddresses side;
  side.endpoint = {.lid = 7, .gid = gid("10.0.0.2"), .queues = {{0xffffff, 0}, {17, 0xabcdef}}};
  side.memory = {.address = 0xffff'ffff'ffff'f000, .bytes = 65536, .key = 0xffff'ffff};
  return side;
}

TEST(RdmaMessagesTest, RoundsByIterationsShareTheLongestTest) {
  using std::chrono::minutes;
  const control::Limits limits{.longest_test = minutes(60)};
  const perf::Plan counted{.iterations = 1};
  EXPECT_EQ(round_limit(counted, limits, minutes(0)), minutes(60) + kSlack);
  EXPECT_EQ(round_limit(counted, limits, minutes(50)), minutes(10) + kSlack);
  EXPECT_EQ(round_limit(counted, limits, minutes(70)), kSlack);
  EXPECT_EQ(round_limit({.time = minutes(2)}, limits, minutes(59)), minutes(2) + kSlack);
}

TEST(RdmaMessagesTest, QueuesTakeMemoryToo) {
  const auto with = [](int queue_pairs, int depth) {
    return Agreement{.rounds = {{.operation = verbs::Operation::Send,
                                 .message_bytes = 2,
                                 .queue_pairs = queue_pairs,
                                 .depth = depth,
                                 .receive_depth = depth}}};
  };
  EXPECT_TRUE(memory_for(with(128, 512), {}));
  const Result<std::uint64_t> greedy = memory_for(with(128, 65536), {});
  ASSERT_FALSE(greedy);
  EXPECT_EQ(greedy.error().kind, ErrorKind::Usage);
  EXPECT_THAT(describe(greedy.error()), HasSubstr("the test needs queues of"));
}

TEST(RdmaMessagesTest, WhereaboutsArriveAsTheyWereSent) {
  const Result<SideAddresses> arrived = side_addresses_in(body_of(somewhere()), 2);
  ASSERT_TRUE(arrived) << describe(arrived.error());
  EXPECT_EQ(body_of(*arrived), body_of(somewhere()));
  EXPECT_EQ(arrived->memory.address, 0xffff'ffff'ffff'f000U) << "beyond what JSON's numbers hold";
  EXPECT_EQ(arrived->endpoint.queues[0].number, 0xffffffU);
}

TEST(RdmaMessagesTest, NumbersOfQueuePairsHave24Bits) {
  for (const Json& wrong :
       {Json::array({1 << 24, 0}), Json::array({0, 1 << 24}), Json::array({-1, 0}),
        Json::array({1}), Json(7), Json::array({"1", 2})}) {
    Json body = body_of(somewhere());
    body["queues"][1] = wrong;
    EXPECT_FALSE(side_addresses_in(body, 2)) << wrong;
  }
}

TEST(RdmaMessagesTest, AsManyQueuePairsAsWereAgreed) {
  EXPECT_THAT(describe(side_addresses_in(body_of(somewhere()), 3).error()), HasSubstr("wanted 3"));
  EXPECT_FALSE(side_addresses_in(body_of(somewhere()), 1));
}

TEST(RdmaMessagesTest, AnAddressIsUpToSixteenDigits) {
  for (const char* wrong : {"", "xyz", "0x10", "11112222333344445", "-1"}) {
    Json body = body_of(somewhere());
    body["address"] = wrong;
    EXPECT_FALSE(side_addresses_in(body, 2)) << wrong;
  }
}

TEST(RdmaMessagesTest, ASideArrivesAsItWasSent) {
  const SideFacts side{.device = "mlx5_0",
                       .port = 2,
                       .netdev = "eth0",
                       .rate = "100 Gb/sec (4X EDR)",
                       .ethernet = true,
                       .gid_index = 3,
                       .gid = gid("fe80::1"),
                       .gid_type = verbs::GidType::RoceV2,
                       .lid = 9,
                       .active_mtu_bytes = 1024,
                       .max_mtu_bytes = 4096,
                       .limits = {.queue_pairs = 10, .depth = 20, .atomics = true}};
  const Result<SideFacts> arrived = side_in(body_of(side));
  ASSERT_TRUE(arrived) << describe(arrived.error());
  EXPECT_EQ(body_of(*arrived), body_of(side));
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, Json>>{{"device", std::string(64, 'x')},
                                                 {"port", 0},
                                                 {"gid", "here"},
                                                 {"gid_type", "v3"},
                                                 {"limits", nullptr},
                                                 {"lid", 65536},
                                                 {"gid_index", -1},
                                                 {"ethernet", 1}}) {
    Json body = body_of(side);
    body[name] = value;
    EXPECT_FALSE(side_in(body)) << name;
  }
}

TEST(RdmaMessagesTest, AGidOfIPv4ReadsAsSuch) {
  EXPECT_EQ(text_of(gid("10.0.0.2")), "10.0.0.2");
  EXPECT_EQ(text_of(gid("2001:db8::1")), "2001:db8::1");
  EXPECT_EQ(gid("10.0.0.2").bytes[10], 0xff);
}

TEST(RdmaMessagesTest, AHalfArrivesWithoutItsHistogram) {
  const SideResult half{.messages = 5,
                        .bytes = 10,
                        .duration_s = 0.5,
                        .average_mbps = 3,
                        .mismatches = 2,
                        .cpu_percent = 50};
  const Result<SideResult> arrived = side_result_in(body_of(half));
  ASSERT_TRUE(arrived);
  EXPECT_EQ(body_of(*arrived), body_of(half));
  EXPECT_EQ(arrived->peak_mbps, std::nullopt);
  Json body = body_of(half);
  body["messages"] = -1;
  EXPECT_FALSE(side_result_in(body));
}

TEST(RdmaMessagesTest, ADoorOfRdmaCmArrivesAsItWasSent) {
  verbs::CmPeer door{.address = {net::Address::parse("2001:db8::2").value(), 40000}};
  door.token.bytes.front() = 0xff;
  door.token.bytes.back() = 1;
  const Result<verbs::CmPeer> arrived = cm_peer_in(body_of(door));
  ASSERT_TRUE(arrived) << describe(arrived.error());
  EXPECT_EQ(arrived->token, door.token);
  EXPECT_EQ(arrived->address, door.address);
  for (const auto& [name, value] : std::vector<std::pair<std::string, Json>>{
           {"token", "ff"}, {"token", std::string(32, 'g')}, {"port", 0}, {"address", "there"}}) {
    Json body = body_of(door);
    body[name] = value;
    EXPECT_FALSE(cm_peer_in(body)) << name << " " << value;
  }
}

TEST(RdmaMessagesTest, RdmaCmFindsAPortByItsGidUnlessThatIsLinkLocal) {
  const net::Address control = net::Address::parse("192.0.2.9").value();
  EXPECT_EQ(cm_address({.ethernet = true, .gid = gid("10.0.0.2")}, control).text(), "10.0.0.2");
  EXPECT_EQ(cm_address({.ethernet = true, .gid = gid("fe80::1")}, control), control);
  EXPECT_EQ(cm_address({.ethernet = false, .gid = gid("2001:db8::1")}, control), control);
}

TEST(RdmaMessagesTest, ARoundThatIsUnderstoodDifferentlyIsRefused) {
  const perf::Plan plan{.queue_pairs = 2, .iterations = 5};
  EXPECT_TRUE(opening_in(opening_body(3, plan, somewhere()), 3, plan));
  EXPECT_THAT(describe(opening_in(opening_body(3, plan, somewhere()), 2, plan).error()),
              HasSubstr("run the same version"));
  perf::Plan other = plan;
  other.depth = 64;
  EXPECT_FALSE(opening_in(opening_body(3, other, somewhere()), 3, plan));
}

}  // namespace
}  // namespace chokepoint::rdma::session
