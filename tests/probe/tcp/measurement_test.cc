#include "probe/tcp/measurement.h"

#include <gtest/gtest.h>

namespace chokepoint::probe::tcp {
namespace {

Half full() {
  StreamMeasure stream{.role = Role::Send, .index = 3, .total_bytes = 10, .bytes = 9};
  stream.end_s = 1.5;
  stream.retransmits = 2;
  stream.rtt_ms = {.min = 1, .median = 2, .p99 = 3, .max = 4, .mean = 2.5, .count = 7};
  stream.chrono = net::TcpChrono{.busy_us = 5, .receive_window_us = 2, .send_buffer_us = 1};
  stream.chrono_us = 6;
  stream.congestion = "bbr";
  return {.streams = {stream, StreamMeasure{.role = Role::Receive}},
          .intervals = {{.role = Role::Receive, .start_s = 0, .end_s = 1, .bytes = 5}},
          .host = {.cpu_percent = 12.5, .softirq_percent = 3.0, .softirq_core = 1}};
}

TEST(TcpMeasurement, TravelsUnchanged) {
  const Result<Half> read = half_in(body_of(full()));
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(body_of(*read), body_of(full()));
  EXPECT_EQ(read->streams[0].role, Role::Send);
  EXPECT_EQ(read->streams[1].retransmits, std::nullopt);
}

TEST(TcpMeasurement, AHostileServersHalfIsAnError) {
  for (const char* path :
       {"/streams", "/intervals", "/host", "/streams/0/bytes", "/streams/0/rtt_ms",
        "/streams/0/chrono/busy_us", "/intervals/0/end_s", "/host/cpu_percent"}) {
    control::Json body = body_of(full());
    body[control::Json::json_pointer(path)] = "nonsense";
    EXPECT_FALSE(half_in(body)) << path;
  }
}

}  // namespace
}  // namespace chokepoint::probe::tcp
