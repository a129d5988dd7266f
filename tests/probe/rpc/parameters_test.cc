#include "probe/rpc/parameters.h"

#include <gtest/gtest.h>

#include "probe/rpc/measurement.h"

namespace chokepoint::probe::rpc {
namespace {

using control::Json;

TEST(RpcParameters, TravelUnchanged) {
  const Parameters sent{.request_bytes = 1 << 20,
                        .response_bytes = 7,
                        .callers = 3,
                        .outstanding = 8,
                        .pause = std::chrono::milliseconds(5),
                        .congestion = "cubic",
                        .no_delay = false,
                        .pace_bits_per_s = 1e9,
                        .next = {{.host = "b"}, {.host = "c", .port = 6000}},
                        .family = OnlyFamily::Ipv6,
                        .share = true};
  const Result<Parameters> read = parameters_in(body_of(sent));
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(body_of(*read), body_of(sent));
}

TEST(RpcParameters, EveryFieldHasBounds) {
  const std::vector<std::pair<const char*, Json>> wrong{
      {"request_bytes", 0},
      {"request_bytes", (1 << 30) + 1},
      {"response_bytes", 0},
      {"callers", 0},
      {"callers", 5000},
      {"outstanding", 0},
      {"outstanding", 5000},
      {"time_ns", 0},
      {"pause_ns", -1},
      {"congestion", "sixteen letters!"},
      {"no_delay", 1},
      {"pace_bits_per_s", 0},
      {"next", Json::array({{{"host", "b"}, {"port", 0}}})},
      {"next", Json::array({{{"host", std::string(256, 'b')}, {"port", 1}}})},
      {"next", std::vector<Json>(16, Json{{"host", "b"}, {"port", 1}})},
      {"family", "ipx"}};
  for (const auto& [name, value] : wrong) {
    Json body = body_of(Parameters{});
    body[name] = value;
    EXPECT_FALSE(parameters_in(body)) << name << " " << value;
  }
  EXPECT_FALSE(parameters_in(Json::object()));
}

TEST(RpcParameters, AreHeldAgainstTheLimits) {
  const control::Limits limits{.longest_test = std::chrono::seconds(20), .streams = 8};
  EXPECT_TRUE(check({.callers = 8}, limits));
  EXPECT_FALSE(check({.callers = 9}, limits));
  EXPECT_FALSE(check({.time = std::chrono::seconds(21)}, limits));
  const control::Limits slow{.rate_bits_per_s = 1e9};
  EXPECT_FALSE(check({}, slow)) << "not paced";
  EXPECT_TRUE(check({.pace_bits_per_s = 1e9}, slow));
  EXPECT_FALSE(check({.pace_bits_per_s = 2e9}, slow));
}

TEST(RpcParameters, EachCallerOfAChainIsMorePatientThanTheNextOne) {
  Parameters first{.next = {{.host = "b"}, {.host = "c"}}};
  Parameters second = first;
  second.next.erase(second.next.begin());
  EXPECT_GT(stall_limit_of(first), stall_limit_of(second));
}

TEST(RpcMeasurement, TravelsUnchangedAndHasBounds) {
  const Worker worker{.calls = 3,
                      .held_ms = {.values = {.max = 2, .count = 3}, .p90 = 1, .p999 = 2},
                      .answers = {.retransmits = 4, .min_rtt_ms = 0.5, .busy_s = 1},
                      .host = {.cpu_percent = 50, .busy_percent = 60, .softirq_percent = 1}};
  const Half half{.worker = worker,
                  .next = {{.host = "b", .address = "10.0.0.2", .calls = 3, .worker = worker}}};
  const Result<Half> read = half_in(body_of(half));
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(body_of(*read), body_of(half));

  Json wrong = body_of(half);
  wrong["worker"]["held_ms"]["p90"] = -1;
  EXPECT_FALSE(half_in(wrong)) << "a time before the call";
  wrong = body_of(half);
  wrong["next"] = std::vector<Json>(16, wrong["next"][0]);
  EXPECT_FALSE(half_in(wrong)) << "more workers than a chain can have";
  wrong = body_of(half);
  wrong["next"][0]["address"] = std::string(65, 'x');
  EXPECT_FALSE(half_in(wrong)) << "a long text";
  EXPECT_FALSE(progress_in(Json{{"progress", -1}}));
  EXPECT_EQ(progress_in(progress_body(7)).value(), 7U);
}

}  // namespace
}  // namespace chokepoint::probe::rpc
