#include "probe/tcp/parameters.h"

#include <gtest/gtest.h>

namespace chokepoint::probe::tcp {
namespace {

using control::Json;

TEST(TcpParameters, TravelUnchanged) {
  const Parameters sent{.direction = Direction::Both,
                        .streams = 4,
                        .bytes = 1'000'000,
                        .omit = std::chrono::seconds(1),
                        .congestion = "cubic",
                        .mss = 1400,
                        .window = 65536,
                        .pace_bits_per_s = 1e9,
                        .dscp = 46,
                        .zero_copy = false,
                        .share = true};
  const Result<Parameters> read = parameters_in(body_of(sent));
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(body_of(*read), body_of(sent));
}

TEST(TcpParameters, EveryFieldHasBounds) {
  const std::vector<std::pair<const char*, Json>> wrong{{"direction", "sideways"},
                                                        {"streams", 0},
                                                        {"streams", 5000},
                                                        {"time_ns", -1},
                                                        {"bytes", 0},
                                                        {"omit_ns", -5},
                                                        {"interval_ns", 1},
                                                        {"mss", 40000},
                                                        {"window", -1},
                                                        {"pace_bits_per_s", 0},
                                                        {"dscp", 64},
                                                        {"zero_copy", 1},
                                                        {"congestion", std::string(64, 'x')}};
  for (const auto& [name, value] : wrong) {
    Json body = body_of(Parameters{});
    body[name] = value;
    EXPECT_FALSE(parameters_in(body)) << name << " " << value;
    body.erase(name);
  }
  EXPECT_FALSE(parameters_in(Json::object()));
}

TEST(TcpParameters, AreHeldAgainstTheLimits) {
  const control::Limits limits{.longest_test = std::chrono::seconds(20), .streams = 8};
  EXPECT_TRUE(check({.streams = 8}, limits));
  EXPECT_FALSE(check({.streams = 9}, limits));
  EXPECT_FALSE(check({.direction = Direction::Both, .streams = 5}, limits)) << "ten connections";
  EXPECT_FALSE(check({.omit = std::chrono::seconds(11)}, limits));
  EXPECT_FALSE(check({.time = std::chrono::hours(10), .interval = std::chrono::milliseconds(10)},
                     {.longest_test = std::chrono::hours(20)}));
  EXPECT_FALSE(check({.window = 2 << 20}, {.buffer_bytes = 1 << 20}));
  const control::Limits slow{.rate_bits_per_s = 1e9};
  EXPECT_FALSE(check({}, slow));
  EXPECT_TRUE(check({.pace_bits_per_s = 5e8}, slow));
}

TEST(TcpParameters, ThePaceIsSharedByTheStreams) {
  const Parameters parameters{.streams = 4, .pace_bits_per_s = 8e9};
  EXPECT_EQ(socket_options(parameters).pacing_bytes_per_s, 250'000'000U);
}

}  // namespace
}  // namespace chokepoint::probe::tcp
