#include "rdma/session/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::rdma::session {
namespace {

using control::Json;
using std::chrono::hours;
using std::chrono::seconds;
using testing::HasSubstr;

Parameters everything() {
  Parameters all{.operation = verbs::Operation::Send,
                 .metric = perf::Metric::Bandwidth,
                 .transport = verbs::Transport::Uc,
                 .sizes = {2, 4096},
                 .queue_pairs = 4,
                 .depth = 64,
                 .receive_depth = 32,
                 .moderation = 8,
                 .post_list = 2,
                 .inline_bytes = 0,
                 .mtu_bytes = 1024,
                 .both_ways = true,
                 .events = true,
                 .check = true,
                 .iterations = 5000,
                 .warm_up = 10,
                 .rate_bits_per_s = 1e9,
                 .traffic_class = 104,
                 .flow_label = 0xabcde,
                 .service_level = 3,
                 .timeout = 12,
                 .retries = 3,
                 .relaxed_ordering = false,
                 .by_cm = true};
  all.client_memory = {.kind = Memory::Kind::Huge};
  all.server_memory = {.kind = Memory::Kind::Gpu, .gpu = 3};
  all.server_port = {.device = "mlx5_0",
                     .port = 2,
                     .gid_index = 3,
                     .family = net::Family::Ipv6,
                     .type = verbs::GidType::RoceV2};
  return all;
}

Json port_with(const char* name, const Json& value) {
  Json port = body_of(everything())["server_port"];
  port[name] = value;
  return port;
}

std::string refusal(const Result<>& result) { return result ? "none" : describe(result.error()); }

TEST(RdmaParametersTest, ArriveAsTheyWereSent) {
  for (const Parameters& each : {Parameters{.time = seconds(3)}, everything()}) {
    const Result<Parameters> arrived = parameters_in(body_of(each));
    ASSERT_TRUE(arrived) << describe(arrived.error());
    EXPECT_EQ(body_of(*arrived), body_of(each));
  }
}

TEST(RdmaParametersTest, EveryFieldHasBounds) {
  const std::vector<std::pair<std::string, Json>> wrong{
      {"operation", "erase"},
      {"metric", 3},
      {"transport", "XRC"},
      {"sizes", Json::array()},
      {"sizes", Json::array({0})},
      {"sizes", Json::array({-1})},
      {"sizes", "2"},
      {"sizes", Json::array({std::int64_t{1} << 31})},
      {"queue_pairs", 0},
      {"queue_pairs", 1'000'000},
      {"depth", 0},
      {"post_list", -1},
      {"inline_bytes", 1'000'000},
      {"mtu_bytes", 9000},
      {"both_ways", "yes"},
      {"iterations", 0},
      {"time_ns", -1},
      {"rate_bits_per_s", -5},
      {"traffic_class", 256},
      {"flow_label", 0x100000},
      {"flow_label", -1},
      {"service_level", 16},
      {"timeout", 32},
      {"retries", 8},
      {"client_memory", "gpu:999"},
      {"server_memory", "gpu:"},
      {"server_port", 7},
      {"server_port", Json{{"device", std::string(500, 'x')}}},
      {"server_port", port_with("family", "ipx")},
      {"server_port", port_with("family", nullptr)},
      {"server_port", port_with("gid_type", "RoCE v3")},
      {"server_port", port_with("port", 0)},
      {"server_port", port_with("gid_index", 65536)}};
  for (const auto& [name, value] : wrong) {
    Json body = body_of(everything());
    body[name] = value;
    EXPECT_FALSE(parameters_in(body)) << name << " " << value;
    body.erase(name);
    if (name == "operation" || name == "sizes" || name == "server_port") {
      EXPECT_FALSE(parameters_in(body)) << name << " is missing";
    }
  }
}

TEST(RdmaParametersTest, NoMoreSizesThanASweepHas) {
  Json body = body_of(everything());
  body["sizes"] = std::vector<int>(65, 2);
  EXPECT_FALSE(parameters_in(body));
  EXPECT_EQ(sweep_sizes().front(), 2U);
  EXPECT_EQ(sweep_sizes().back(), 8U << 20);
  EXPECT_EQ(sweep_sizes().size(), 23U);
}

TEST(RdmaParametersTest, WhatATransportDoesNotCarryIsRefused) {
  const auto check_of = [](verbs::Transport transport, verbs::Operation operation) {
    return refusal(
        check({.operation = operation, .transport = transport, .sizes = {8}, .time = seconds(1)}));
  };
  EXPECT_EQ(check_of(verbs::Transport::Rc, verbs::Operation::Read), "none");
  EXPECT_THAT(check_of(verbs::Transport::Uc, verbs::Operation::Read),
              HasSubstr("read over UC: this transport does not carry it"));
  EXPECT_THAT(check_of(verbs::Transport::Ud, verbs::Operation::Write),
              HasSubstr("UD carries send alone"));
}

TEST(RdmaParametersTest, MistakesAreToldInOneLine) {
  const Parameters fine{.time = seconds(1)};
  EXPECT_EQ(refusal(check(fine)), "none");
  Parameters wrong = fine;
  wrong.iterations = 5;
  EXPECT_THAT(refusal(check(wrong)), HasSubstr("give only one of them"));
  wrong = fine;
  wrong.operation = verbs::Operation::FetchAndAdd;
  EXPECT_THAT(refusal(check(wrong)), HasSubstr("8 bytes"));
  wrong = fine;
  wrong.metric = perf::Metric::Latency;
  wrong.queue_pairs = 2;
  EXPECT_THAT(refusal(check(wrong)), HasSubstr("one queue pair"));
  wrong.queue_pairs = 1;
  wrong.both_ways = true;
  EXPECT_THAT(refusal(check(wrong)), HasSubstr("--both"));
  wrong = fine;
  wrong.depth = 4;
  wrong.post_list = 8;
  EXPECT_THAT(refusal(check(wrong)), HasSubstr("a post of 8 does not fit into a depth of 4"));
  wrong.post_list = 1;
  wrong.moderation = 5;
  EXPECT_THAT(refusal(check(wrong)),
              HasSubstr("a queue of depth 4 fills up before a completion is signaled"));
  wrong = fine;
  wrong.inline_bytes = 64;
  EXPECT_EQ(refusal(check(wrong)), "none");
  wrong.server_memory.kind = Memory::Kind::Gpu;
  EXPECT_THAT(refusal(check(wrong)), HasSubstr("--inline: the processor copies"));
  wrong.inline_bytes = 0;
  EXPECT_EQ(refusal(check(wrong)), "none");
  wrong = fine;
  wrong.by_cm = true;
  EXPECT_EQ(refusal(check(wrong)), "none");
  wrong.transport = verbs::Transport::Uc;
  EXPECT_THAT(refusal(check(wrong)), HasSubstr("--cm over UC: rdma_cm connects"));
  wrong = fine;
  wrong.mtu_bytes = 1500;
  EXPECT_THAT(refusal(check(wrong)), HasSubstr("256, 512, 1024, 2048 or 4096"));
  // rdma_cm chooses it.
  EXPECT_TRUE(check(Parameters{.iterations = 5, .flow_label = 7}));
  EXPECT_FALSE(check(Parameters{.iterations = 5, .flow_label = 7, .by_cm = true}));
}

TEST(RdmaParametersTest, AServerGrantsNoMoreThanItsLimits) {
  const control::Limits limits{
      .longest_test = seconds(60), .streams = 8, .rate_bits_per_s = std::nullopt};
  EXPECT_EQ(refusal(check({.time = seconds(60)}, limits)), "none");
  EXPECT_THAT(refusal(check({.time = hours(2)}, limits)), HasSubstr("--time 2.00 h"));
  EXPECT_THAT(refusal(check({.sizes = sweep_sizes(), .time = seconds(3)}, limits)),
              HasSubstr("--time 1.15 min"));
  EXPECT_THAT(refusal(check({.queue_pairs = 9, .iterations = 1}, limits)),
              HasSubstr("--queue-pairs 9: the server grants at most 8"));
  const control::Limits slow{.rate_bits_per_s = 1e9};
  EXPECT_THAT(refusal(check({.iterations = 1}, slow)), HasSubstr("the server grants at most"));
  EXPECT_EQ(refusal(check({.iterations = 1, .rate_bits_per_s = 5e8}, slow)), "none");
}

TEST(RdmaWordsTest, MemoryIsNamedByKind) {
  EXPECT_EQ(memory_named("host"), Memory{});
  EXPECT_EQ(memory_named("gpu:12")->gpu, 12);
  for (const char* wrong : {"", "gpu", "gpu:-1", "gpu:1x", "gpu:64", "disk"}) {
    ASSERT_FALSE(memory_named(wrong)) << wrong;
    EXPECT_EQ(memory_named(wrong).error().kind, ErrorKind::Usage);
  }
}

}  // namespace
}  // namespace chokepoint::rdma::session
