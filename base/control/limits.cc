#include "base/control/limits.h"

#include <fmt/format.h>

#include "base/math/units.h"

namespace chokepoint::control {
namespace {

Result<> too_much(std::string_view what, const std::string& asked, const std::string& granted) {
  return fail(ErrorKind::Usage, "", fmt::format("{} {}", what, asked),
              fmt::format("the server grants at most {}", granted),
              "ask for less, or raise the limit with the flags of 'chokepoint serve'");
}

}  // namespace

Result<> check_time(const Limits& limits, std::chrono::nanoseconds asked) {
  if (asked <= limits.longest_test) {
    return {};
  }
  return too_much("--time", math::format_duration(asked),
                  math::format_duration(limits.longest_test));
}

Result<> check_streams(const Limits& limits, std::int64_t asked) {
  if (asked <= limits.streams) {
    return {};
  }
  return too_much("--streams", std::to_string(asked), std::to_string(limits.streams));
}

Result<> check_buffer(const Limits& limits, std::int64_t bytes) {
  if (bytes <= limits.buffer_bytes) {
    return {};
  }
  return too_much("--window", math::format_bytes(static_cast<double>(bytes)),
                  math::format_bytes(static_cast<double>(limits.buffer_bytes)));
}

Result<> check_rate(const Limits& limits, double bits_per_s) {
  if (!limits.rate_bits_per_s || bits_per_s <= *limits.rate_bits_per_s) {
    return {};
  }
  return too_much("rate", math::format_rate(bits_per_s),
                  math::format_rate(*limits.rate_bits_per_s));
}

Result<> check_pace(const Limits& limits, std::optional<double> bits_per_s) {
  return check_rate(limits, bits_per_s.value_or(kMaxBitsPerS));
}

Result<> check_interval(std::chrono::nanoseconds time, std::chrono::nanoseconds interval) {
  if (time / interval <= kMaxIntervals) {
    return {};
  }
  return fail(ErrorKind::Usage, "", "--interval",
              fmt::format("a test has at most {} intervals", kMaxIntervals), "give a longer one");
}

}  // namespace chokepoint::control
