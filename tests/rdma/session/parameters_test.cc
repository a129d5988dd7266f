#include "rdma/session/parameters.h"

#include <gtest/gtest.h>

#include "tests/fakes/golden.h"

namespace chokepoint::rdma::session {
namespace {

using control::Json;
using std::chrono::hours;
using std::chrono::seconds;

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

TEST(RdmaParametersTest, WhatFitsTogetherIsTaken) {
  EXPECT_TRUE(check({.time = seconds(1)}));
  EXPECT_TRUE(check({.operation = verbs::Operation::Read, .sizes = {8}, .time = seconds(1)}));
  EXPECT_TRUE(check({.inline_bytes = 64, .time = seconds(1)}));
  EXPECT_TRUE(check({.time = seconds(1), .server_memory = {.kind = Memory::Kind::Gpu}}));
  EXPECT_TRUE(check({.time = seconds(1), .by_cm = true}));
  EXPECT_TRUE(check({.iterations = 5, .flow_label = 7}));
}

TEST(RdmaParametersTest, PictureOfMistakes) {
  fakes::Sentences sentences;
  for (const auto& [what, wrong] : std::initializer_list<std::pair<const char*, Parameters>>{
           {"read over UC",
            {.operation = verbs::Operation::Read,
             .transport = verbs::Transport::Uc,
             .sizes = {8},
             .time = seconds(1)}},
           {"write over UD",
            {.operation = verbs::Operation::Write,
             .transport = verbs::Transport::Ud,
             .sizes = {8},
             .time = seconds(1)}},
           {"iterations and a time", {.iterations = 5, .time = seconds(1)}},
           {"an atomic operation of another size",
            {.operation = verbs::Operation::FetchAndAdd, .time = seconds(1)}},
           {"latency over two queue pairs",
            {.metric = perf::Metric::Latency, .queue_pairs = 2, .time = seconds(1)}},
           {"latency both ways",
            {.metric = perf::Metric::Latency, .both_ways = true, .time = seconds(1)}},
           {"a post larger than the queue", {.depth = 4, .post_list = 8, .time = seconds(1)}},
           {"a moderation larger than the queue",
            {.depth = 4, .moderation = 5, .time = seconds(1)}},
           {"inline from a GPU",
            {.inline_bytes = 64, .time = seconds(1), .server_memory = {.kind = Memory::Kind::Gpu}}},
           {"rdma_cm over UC",
            {.transport = verbs::Transport::Uc, .time = seconds(1), .by_cm = true}},
           {"a flow label with rdma_cm", {.iterations = 5, .flow_label = 7, .by_cm = true}},
           {"an MTU that no port has", {.mtu_bytes = 1500, .time = seconds(1)}}}) {
    const Result<> checked = check(wrong);
    ASSERT_FALSE(checked) << what;
    EXPECT_EQ(checked.error().kind, ErrorKind::Usage) << what;
    sentences.add(what, describe(checked.error()));
  }
  EXPECT_GOLDEN("sentences_rdma_parameters", sentences.text());
}

TEST(RdmaParametersTest, AServerGrantsNoMoreThanItsLimits) {
  const control::Limits limits{
      .longest_test = seconds(60), .streams = 8, .rate_bits_per_s = std::nullopt};
  const auto refused = [](const Parameters& parameters, const control::Limits& most) {
    const Result<> checked = check(parameters, most);
    return checked ? "none" : checked.error().subject;
  };
  EXPECT_EQ(refused({.time = seconds(60)}, limits), "none");
  EXPECT_EQ(refused({.time = hours(2)}, limits), "--time 2.00 h");
  EXPECT_EQ(refused({.sizes = sweep_sizes(), .time = seconds(3)}, limits), "--time 1.15 min");
  EXPECT_EQ(refused({.queue_pairs = 9, .iterations = 1}, limits), "--queue-pairs 9");
  const control::Limits slow{.rate_bits_per_s = 1e9};
  EXPECT_NE(refused({.iterations = 1}, slow), "none");
  EXPECT_EQ(refused({.iterations = 1, .rate_bits_per_s = 5e8}, slow), "none");
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
