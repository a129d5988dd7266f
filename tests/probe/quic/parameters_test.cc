#include "probe/quic/parameters.h"

#include <gtest/gtest.h>

#include "probe/quic/measurement.h"

namespace chokepoint::probe::quic {
namespace {

using control::Json;

TEST(QuicParameters, TravelUnchanged) {
  const Parameters sent{.direction = Direction::Both,
                        .streams = 4,
                        .congestion = documents::QuicCongestion::Bbr,
                        .window_bytes = 1 << 20,
                        .segmentation = false,
                        .pace_bits_per_s = 1e9,
                        .share = true};
  const Result<Parameters> read = parameters_in(body_of(sent));
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(body_of(*read), body_of(sent));
}

TEST(QuicParameters, EveryFieldHasBounds) {
  const std::vector<std::pair<const char*, Json>> wrong{
      {"direction", "sideways"}, {"streams", 0},      {"streams", 5000},
      {"time_ns", -1},           {"interval_ns", 1},  {"congestion", "vegas"},
      {"window_bytes", 1},       {"segmentation", 1}, {"pace_bits_per_s", 0}};
  for (const auto& [name, value] : wrong) {
    Json body = body_of(Parameters{});
    body[name] = value;
    EXPECT_FALSE(parameters_in(body)) << name << " " << value;
  }
  EXPECT_FALSE(parameters_in(Json::object()));
}

TEST(QuicParameters, AreHeldAgainstTheLimits) {
  const control::Limits limits{.longest_test = std::chrono::seconds(20), .streams = 8};
  EXPECT_TRUE(check({.streams = 8}, limits));
  EXPECT_FALSE(check({.streams = 9}, limits));
  EXPECT_FALSE(check({.time = std::chrono::seconds(21)}, limits));
  EXPECT_FALSE(check({.time = std::chrono::hours(10), .interval = std::chrono::milliseconds(10)},
                     {.longest_test = std::chrono::hours(20)}));
  EXPECT_FALSE(check({.window_bytes = 2 << 20}, {.buffer_bytes = 1 << 20}));
  const control::Limits slow{.rate_bits_per_s = 1e9};
  EXPECT_FALSE(check({}, slow)) << "not paced";
  EXPECT_TRUE(check({.pace_bits_per_s = 1e9}, slow));
  EXPECT_FALSE(check({.pace_bits_per_s = 2e9}, slow));
}

TEST(QuicMeasurement, TravelsUnchangedAndHasBounds) {
  const Half half{.sent = {.bytes = 1000, .packets = 3, .min_rtt_ms = 0.5, .segmentation = true},
                  .received = {.bytes = 7, .stream_bytes = {3, 4}},
                  .host = {.cpu_percent = 50, .busy_percent = 60},
                  .intervals = {{.start_s = 0, .end_s = 1, .sent_bytes = 1000}},
                  .library = "ngtcp2 0.12.1"};
  const Result<Half> read = half_in(body_of(half));
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(body_of(*read), body_of(half));

  Json wrong = body_of(half);
  wrong["library"] = std::string(65, 'x');
  EXPECT_FALSE(half_in(wrong)) << "a long text";
  wrong = body_of(half);
  wrong["received"]["stream_bytes"] = std::vector<int>(2000, 1);
  EXPECT_FALSE(half_in(wrong)) << "more streams than there can be";
  wrong = body_of(half);
  wrong["sent"]["shares"]["pacing"] = 1.5;
  EXPECT_FALSE(half_in(wrong)) << "more than all of the time";
}

}  // namespace
}  // namespace chokepoint::probe::quic
