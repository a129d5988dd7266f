// Limits of a test's parameters: those of every test, and those of one server, which sends them to
// each client at admission and enforces them. Values.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "base/control/message.h"
#include "base/documents/values.h"
#include "base/json/fields.h"
#include "base/sys/error.h"

namespace chokepoint::control {

// What a request may hold, whatever the server. Chosen: far above any use, and small enough for the
// arithmetic with it.
inline constexpr double kMaxTestNs = 86'400e9 * 30;  // 30 days
inline constexpr std::chrono::milliseconds kMinInterval{10};
inline constexpr double kMinIntervalNs = std::chrono::nanoseconds(kMinInterval).count();
inline constexpr double kMinPaceBitsPerS = 1000;
inline constexpr double kMaxBitsPerS = 1e15;
// Bounds the memory of a very long test. The totals of a test include intervals that are not kept.
inline constexpr int kMaxIntervals = 36'000;
inline constexpr std::size_t kMaxIntervalsKept = 80'000;

// The longest time that an end may report, in milliseconds or seconds.
inline constexpr double kMaxReportedTime = 1e10;

struct Limits {
  std::chrono::nanoseconds longest_test = std::chrono::hours(1);
  std::int64_t streams = 128;
  std::optional<double> rate_bits_per_s = {};  // of a paced test; none: whatever the path carries
  std::int64_t buffer_bytes = std::int64_t{512} << 20;  // of one socket
  // What the kernel grants one socket, whatever is asked for: for the server's own sums, not sent
  // to clients.
  std::int64_t kernel_buffer_bytes = std::numeric_limits<std::int64_t>::max();
};

// Usage errors that name what was asked for and what is granted.
Result<> check_time(const Limits& limits, std::chrono::nanoseconds asked);
Result<> check_streams(const Limits& limits, std::int64_t asked);
Result<> check_buffer(const Limits& limits, std::int64_t bytes);
Result<> check_rate(const Limits& limits, double bits_per_s);
// A test that is not paced may send at any rate.
Result<> check_pace(const Limits& limits, std::optional<double> bits_per_s);
// Between the reports of one test.
Result<> check_interval(std::chrono::nanoseconds time, std::chrono::nanoseconds interval);

using documents::Direction;

}  // namespace chokepoint::control

template <>
struct chokepoint::Fields<chokepoint::control::Limits> {
  using L = control::Limits;
  static constexpr FieldList kList{
      field("longest_test_s", &L::longest_test, "longest time of one test, seconds")
          .between(0, 1e9)
          .in_seconds(),
      field("streams", &L::streams, "most streams of one test").between(1, 1'000'000),
      field("rate_bits_per_s", &L::rate_bits_per_s,
            "highest rate of a paced test, bit/s; null: no limit")
          .between(0, control::kMaxBitsPerS),
      field("buffer_bytes", &L::buffer_bytes, "largest buffer of one socket").at_least(0)};
};
