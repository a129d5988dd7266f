// Documents as the real commands print them, between two addresses of loopback (documents/), and
// what liars make of them.
#include "preflight/coordinator/readings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <initializer_list>
#include <utility>

#include "base/documents/doctor.h"
#include "base/documents/probe_path.h"
#include "tests/fakes/printed.h"

namespace chokepoint::preflight::coordinator {
namespace {

using control::Json;

Json document(const std::string& name) {
  std::ifstream file(std::string(CHOKEPOINT_FIXTURES) + "/../preflight/coordinator/documents/" +
                     name + ".json");
  return Json::parse(file);
}

bool is_malformed(const Result<>& read) {
  return !read && read.error().kind == ErrorKind::Malformed;
}

TEST(Readings, tcp) {
  PathResult path;
  const Json real = document("tcp");
  ASSERT_TRUE(read_tcp(real, path));
  EXPECT_FLOAT_EQ(path.tcp_mbps.value(), real["throughput_mbps"].get<float>());
  EXPECT_GT(path.tcp_mbps.value(), 100);
  EXPECT_GE(path.retransmitted_percent.value(), 0);
  EXPECT_LE(path.window_share.value(), 1);
  EXPECT_GT(path.largest_window_bytes.value(), 10'000);
  EXPECT_GT(path.sender_cpu_percent.value(), 0);
  EXPECT_GT(path.receiver_cpu_percent.value(), 0);
  EXPECT_FALSE(path.alone_mbps);
}

TEST(Readings, tcp_alone_and_together) {
  PathResult path;
  ASSERT_TRUE(read_alone(document("tcp"), path));
  EXPECT_TRUE(path.alone_mbps);
  EXPECT_FALSE(path.tcp_mbps);
  PathResult back;
  const Json both = document("tcp_both");
  ASSERT_TRUE(read_together(both, path, back));
  EXPECT_FLOAT_EQ(path.together_mbps.value(), both["send"]["throughput_mbps"].get<float>());
  EXPECT_FLOAT_EQ(back.together_mbps.value(), both["receive"]["throughput_mbps"].get<float>());
  EXPECT_TRUE(is_malformed(read_together(document("tcp"), path, back)));
  EXPECT_TRUE(is_malformed(read_tcp(both, path)));
}

TEST(Readings, what_limited_a_flow) {
  Json said = document("tcp");
  for (const auto& [word, limit] : {std::pair("sender-cpu", TcpLimit::SenderCpu),
                                    {"receive-window", TcpLimit::ReceiveWindow},
                                    {"loss", TcpLimit::Network},
                                    {"path", TcpLimit::Network},
                                    {"asked", TcpLimit::Unknown}}) {
    said["limit"] = word;
    PathResult path;
    ASSERT_TRUE(read_tcp(said, path));
    EXPECT_EQ(path.limit, limit) << word;
  }
}

TEST(Readings, retransmissions_are_a_share_of_segments) {
  Json said = document("tcp");
  said["retransmits"] = 5;
  said["mss_bytes"] = 1000;
  said["sent_bytes"] = 500'000;
  PathResult path;
  ASSERT_TRUE(read_tcp(said, path));
  EXPECT_FLOAT_EQ(path.retransmitted_percent.value(), 1);
  said["retransmits"] = nullptr;
  ASSERT_TRUE(read_tcp(said, path));
  EXPECT_FALSE(path.retransmitted_percent);
}

TEST(Readings, loss) {
  PairResult pair;
  ASSERT_TRUE(read_loss(document("udp"), pair));
  EXPECT_GT(pair.there.packets, 50U);
  EXPECT_GT(pair.back.packets, 50U);
  EXPECT_EQ(pair.there.lost, 0U);
  EXPECT_TRUE(pair.clock_uncertainty_ms);
  EXPECT_NEAR(monotonic_offset_ms(document("udp")).value(), 0, 1);
}

TEST(Readings, what_hosts_dropped_the_network_did_not) {
  Json said = document("udp");
  said["send"]["packets_sent"] = 100;
  said["send"]["lost"] = 10;
  said["send"]["lost_in_receiver_queue"] = 3;
  said["send"]["dropped_by_sender_queue"] = 2;
  PairResult pair;
  ASSERT_TRUE(read_loss(said, pair));
  EXPECT_EQ(pair.there.lost, 5U);
  said["send"]["lost_in_receiver_queue"] = 30;
  ASSERT_TRUE(read_loss(said, pair));
  EXPECT_EQ(pair.there.lost, 0U);
  said["send"]["lost"] = 101;
  EXPECT_TRUE(is_malformed(read_loss(said, pair)));
}

TEST(Readings, latency) {
  PairResult pair;
  ASSERT_TRUE(read_latency(document("latency"), pair));
  EXPECT_GT(pair.rtt_ms.value(), 0);
  EXPECT_LE(pair.rtt_min_ms.value(), pair.rtt_ms.value());
  EXPECT_LE(pair.rtt_ms.value(), pair.rtt_p99_ms.value());
}

TEST(Readings, path) {
  PairResult pair;
  ASSERT_TRUE(read_path(document("path"), pair));
  EXPECT_FLOAT_EQ(pair.there.hops.value(), 1);
  EXPECT_FLOAT_EQ(pair.back.hops.value(), 1);
  EXPECT_FLOAT_EQ(pair.there.mtu_bytes.value(), 65535);
  EXPECT_FLOAT_EQ(pair.back.mtu_bytes.value(), 65535);
  EXPECT_FALSE(pair.there.black_hole_bytes);
  EXPECT_EQ(pair.ipv4, FamilyState::Works);
  EXPECT_EQ(pair.ipv6, FamilyState::Absent);
}

TEST(Readings, a_path_that_was_not_seen_back) {
  Json said = document("path");
  said["families"]["ipv4"]["reverse"] =
      json::to_json(documents::PathDirection{.why_not = "no serve"});
  said["families"]["ipv4"]["connection"] = "refused";
  PairResult pair;
  ASSERT_TRUE(read_path(said, pair));
  EXPECT_FALSE(pair.back.mtu_bytes);
  EXPECT_EQ(pair.ipv4, FamilyState::Fails);
}

TEST(Readings, flows) {
  const Json said = document("paths");
  BundleResult bundle{.asked = 3, .peer = 5};
  ASSERT_TRUE(read_flows(said, bundle));
  EXPECT_EQ(bundle.verdict, "found");
  ASSERT_EQ(bundle.bad.size(), 2U);
  EXPECT_EQ(bundle.bad[0].fault, MemberFault::Loss);
  EXPECT_EQ(std::pair(bundle.bad[0].from, bundle.bad[0].to), std::pair(3U, 5U));
  EXPECT_FLOAT_EQ(bundle.bad[0].loss_percent.value(), 2.5);
  EXPECT_EQ(bundle.bad[0].one_of, 4U);
  EXPECT_EQ(bundle.bad[0].ports, (std::vector<std::uint16_t>{40'002}));
  EXPECT_EQ(bundle.bad[0].router, "10.77.4.2");
  EXPECT_EQ(bundle.bad[0].of_flows, 3U);
  EXPECT_EQ(bundle.bad[1].fault, MemberFault::Delay);
  EXPECT_EQ(std::pair(bundle.bad[1].from, bundle.bad[1].to), std::pair(5U, 3U));
  EXPECT_EQ(bundle.bad[1].one_of, std::nullopt);
}

TEST(Readings, flows_of_an_agent_that_lies) {
  for (const auto& [place, lie] : std::initializer_list<std::pair<const char*, Json>>{
           {"/findings/0/direction", "sideways"},
           {"/findings/0/source_ports", std::vector<int>(300, 40'000)},
           {"/findings/0/hop/address", std::string(100, '1')},
           {"/findings/0/loss_percent", 101},
           {"/flows", std::vector<Json>(300, {{"source_port", 1}})}}) {
    Json said = document("paths");
    said[Json::json_pointer(place)] = lie;
    BundleResult bundle;
    EXPECT_TRUE(is_malformed(read_flows(said, bundle))) << place;
    EXPECT_TRUE(bundle.bad.empty());
  }
}

TEST(Readings, collective) {
  CollectiveResult result;
  ASSERT_TRUE(read_collective(document("collective"), result));
  EXPECT_EQ(result.backend, "gloo");
  EXPECT_EQ(result.ranks, 2);
  EXPECT_EQ(result.bytes, 65536);
  EXPECT_GT(result.bus_mbps.value(), 0);
  EXPECT_GT(result.time_us.value(), 0);
}

TEST(Readings, a_collective_that_failed) {
  Json said = document("collective");
  said["failure"] = "rank 1 was lost";
  CollectiveResult result;
  const Result<> read = read_collective(said, result);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().reason, "rank 1 was lost");
  said["failure"] = nullptr;
  said["sizes"] = Json::array();
  EXPECT_FALSE(read_collective(said, result));
  said["sizes"] = {5};
  EXPECT_TRUE(is_malformed(read_collective(said, result)));
  EXPECT_FALSE(result.bus_mbps);
}

TEST(Readings, doctor) {
  HostResult host;
  const documents::Doctor said{.checks = {{.id = "nic.mtu",
                                           .status = checks::Status::Critical,
                                           .subject = "eth0",
                                           .found = "1500"}}};
  ASSERT_TRUE(read_doctor(fakes::printed(said), host));
  ASSERT_EQ(host.doctor.size(), 1U);
  EXPECT_EQ(host.doctor[0].status, checks::Status::Critical);
  EXPECT_EQ(host.doctor[0].found, "1500");
  EXPECT_EQ(host.doctor[0].wanted, "");
}

TEST(Readings, doctors_that_make_no_sense) {
  HostResult host;
  const auto of = [](Json check) {
    return Json{{"schema", "chokepoint.doctor/1"}, {"checks", {std::move(check)}}};
  };
  EXPECT_TRUE(is_malformed(read_doctor(of(7), host)));
  EXPECT_TRUE(is_malformed(read_doctor(of({{"id", "x"}, {"status", "FINE"}}), host)));
  EXPECT_TRUE(is_malformed(read_doctor(of({{"id", 1}, {"status", "PASS"}}), host)));
  EXPECT_TRUE(is_malformed(
      read_doctor(of({{"id", "x"}, {"status", "PASS"}, {"why", std::string(5000, 'w')}}), host)));
  EXPECT_TRUE(host.doctor.empty());
}

TEST(Readings, names) {
  const Json said{{"schema", "chokepoint.names/1"},
                  {"answers",
                   {{{"name", "b"}, {"addresses", {"10.0.0.2", "fd00::2"}}, {"error", nullptr}},
                    {{"name", "c"},
                     {"addresses", Json::array()},
                     {"error", {{"kind", "not_found"}, {"reason", "no such name"}}}}}}};
  HostResult host;
  ASSERT_TRUE(read_names(said, {4, 6}, host));
  ASSERT_EQ(host.names.size(), 2U);
  EXPECT_EQ(host.names[0].asked, 4U);
  EXPECT_EQ(host.names[0].addresses.size(), 2U);
  EXPECT_EQ(host.names[1].error.value().reason, "no such name");
  EXPECT_TRUE(is_malformed(read_names(said, {4}, host)));
  EXPECT_TRUE(is_malformed(read_names(said, {4, 5, 6}, host)));
}

TEST(Readings, names_that_make_no_sense) {
  HostResult host;
  for (const Json& answer : {Json(7), Json::object(), Json{{"addresses", "10.0.0.2"}},
                             Json{{"addresses", {1}}}, Json{{"addresses", {std::string(257, 'a')}}},
                             Json{{"addresses", Json::array()}, {"error", "no such name"}},
                             Json{{"addresses", Json::array()}, {"error", {{"kind", 4}}}}}) {
    const Json said{{"schema", "chokepoint.names/1"}, {"answers", Json::array({answer})}};
    EXPECT_TRUE(is_malformed(read_names(said, {4}, host))) << answer;
  }
  EXPECT_TRUE(host.names.empty());
}

TEST(Readings, an_error_of_a_kind_that_only_newer_versions_know) {
  HostResult host;
  const Json said{{"schema", "chokepoint.names/1"},
                  {"answers",
                   {{{"addresses", Json::array()},
                     {"error", {{"kind", "tomorrow's"}, {"reason", "no such name"}}}}}}};
  ASSERT_TRUE(read_names(said, {4}, host));
  EXPECT_EQ(host.names.at(0).error.value().kind, ErrorKind::Io);
}

// Whatever stands in a field's place: no crash, and nothing that is no number gets in.
TEST(Readings, anything_may_stand_anywhere) {
  const std::vector<Json> lies{Json(),           Json(true),     Json(-1),
                               Json(1e300),      Json("x"),      Json(std::nan("")),
                               Json::array({1}), Json::object(), Json(UINT64_MAX),
                               Json(INT64_MIN)};
  for (const char* name : {"tcp", "tcp_both", "udp", "latency", "path", "paths", "collective"}) {
    const Json real = document(name);
    const Json flat = real.flatten();
    for (const auto& [place, was] : flat.items()) {
      for (const Json& lie : lies) {
        Json said = real;
        said[Json::json_pointer(place)] = lie;
        PathResult path;
        PathResult other;
        PairResult pair;
        CollectiveResult result;
        HostResult host;
        BundleResult bundle;
        static_cast<void>(read_flows(said, bundle));
        static_cast<void>(read_tcp(said, path));
        static_cast<void>(read_together(said, path, other));
        static_cast<void>(read_loss(said, pair));
        static_cast<void>(read_latency(said, pair));
        static_cast<void>(read_path(said, pair));
        static_cast<void>(read_collective(said, result));
        static_cast<void>(read_doctor(said, host));
        for (const Figure& figure : {path.tcp_mbps, path.window_share, other.together_mbps,
                                     pair.rtt_ms, pair.there.mtu_bytes, pair.there.hops}) {
          EXPECT_TRUE(!figure || (std::isfinite(*figure) && *figure >= 0)) << name << place;
        }
      }
    }
  }
}

}  // namespace
}  // namespace chokepoint::preflight::coordinator
