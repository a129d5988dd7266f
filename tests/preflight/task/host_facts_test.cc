#include "preflight/task/host_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include <nlohmann/json.hpp>

#include "base/cli/output.h"
#include "base/json/codec.h"

namespace chokepoint::preflight {
namespace {

using cli::Json;

HostFacts whole() {
  return {.host = "gpu1",
          .interfaces = {{.name = "eth0",
                          .addresses = {"10.0.0.1", "fe80::1%eth0"},
                          .networks = {"10.0.0.0/24", "fe80::/64"},
                          .mtu = 9000,
                          .speed_mbps = 100'000,
                          .pci_mbps = 126'000.5,
                          .is_port = true,
                          .is_up = true},
                         {.name = "veth1"}},
          .rdma = {{.device = "mlx5_0",
                    .port = 2,
                    .interface = "eth0",
                    .speed_mbps = 100'000,
                    .is_active = true},
                   {.device = "rxe0"}},
          .receive_buffer_bytes = 33'554'432,
          .send_buffer_bytes = 4'194'304,
          .congestion_control = "cubic",
          .cpus = 64,
          .gpus = 0,
          .wall_less_monotonic_ms = 1.795e12,
          .has_gloo = true};
}

Json with(const char* name, Json value) {
  Json json = json::to_json(whole());
  json[name] = std::move(value);
  return json;
}

Json with_interface(const char* name, Json value) {
  Json json = json::to_json(whole());
  json["interfaces"][0][name] = std::move(value);
  return json;
}

TEST(HostFacts, ComeBackAsTheyWere) {
  EXPECT_EQ(json::from_json<HostFacts>(json::to_json(whole()), "facts").value(), whole());
  EXPECT_EQ(json::from_json<HostFacts>(json::to_json(HostFacts()), "facts").value(), HostFacts());
  // As they travel.
  EXPECT_EQ(json::from_json<HostFacts>(Json::parse(json::to_json(whole()).dump()), "facts").value(),
            whole());
}

TEST(HostFacts, WhatIsNotKnownIsNull) {
  const Json json = json::to_json(HostFacts());
  EXPECT_TRUE(json["cpus"].is_null());
  EXPECT_TRUE(json["receive_buffer_bytes"].is_null());
  EXPECT_TRUE(json::to_json(whole())["interfaces"][1]["speed_mbps"].is_null());
}

TEST(HostFacts, WrongTypesAndBoundsAreNamed) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const Json& bad : {Json(),
                          Json::array(),
                          Json("facts"),
                          with("host", 1),
                          with("host", std::string(256, 'h')),
                          with("interfaces", Json::object()),
                          with("interfaces", {1}),
                          with("rdma", nullptr),
                          with("rdma", Json::array({Json::array()})),
                          with("receive_buffer_bytes", -1),
                          with("send_buffer_bytes", "4M"),
                          with("cpus", 1e9),
                          with("gpus", 1'000'000'000),
                          with("has_gloo", 1),
                          with("wall_less_monotonic_ms", 1e300),
                          with("congestion_control", std::string(65, 'c')),
                          with_interface("name", std::string(65, 'n')),
                          with_interface("mtu", 1.5),
                          with_interface("speed_mbps", infinite),
                          with_interface("speed_mbps", -1),
                          with_interface("addresses", {"10.0.0.1"}),
                          with_interface("addresses", {1, 2}),
                          with_interface("networks", {"", std::string(129, 'x')}),
                          with_interface("is_up", {})}) {
    const Result<HostFacts> facts = json::from_json<HostFacts>(bad, "facts");
    ASSERT_FALSE(facts) << bad;
    EXPECT_EQ(facts.error().kind, ErrorKind::Malformed) << bad;
    EXPECT_NE(facts.error().subject, "") << bad;
  }
}

TEST(HostFacts, NoHostHasSoMany) {
  EXPECT_FALSE(json::from_json<HostFacts>(
      with("interfaces", Json(Json::array_t(kMaxInterfaces + 1, Json::object()))), "facts"));
  EXPECT_FALSE(json::from_json<HostFacts>(
      with("rdma", Json(Json::array_t(kMaxRdmaPorts + 1, Json::object()))), "facts"));
  const Json many(Json::array_t(kMaxAddresses + 1, "10.0.0.1"));
  Json json = with_interface("addresses", many);
  json["interfaces"][0]["networks"] = many;
  EXPECT_FALSE(json::from_json<HostFacts>(json, "facts"));
}

}  // namespace
}  // namespace chokepoint::preflight
