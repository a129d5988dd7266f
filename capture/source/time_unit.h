// The unit of an interface's timestamps in pcapng: a power of ten or two a second, and an offset.
// Numbers that no clock would write wrap or become 0; they never fail. A value.
#pragma once

#include <cstdint>

namespace chokepoint::capture::source {

class TimeUnit {
 public:
  // As in the option if_tsresol: the upper bit tells two from ten, the others are the exponent.
  static TimeUnit of_resolution(std::uint8_t resolution);
  void set_offset(std::int64_t seconds) {
    offset_ns_ = static_cast<std::uint64_t>(seconds) * 1'000'000'000U;
  }

  std::int64_t ns(std::uint64_t ticks) const {
    const std::uint64_t since = factor_ > 0 ? ticks * factor_ : fraction(ticks);
    return static_cast<std::int64_t>(since + offset_ns_);
  }

 private:
  std::uint64_t fraction(std::uint64_t ticks) const;

  std::uint64_t factor_ = 1000;  // nanoseconds a tick; 0: a tick is less than that, or a part of it
  std::uint64_t divisor_ = 0;    // ticks a nanosecond; 0: not a power of ten
  unsigned shift_ = 0;           // ticks a second, as a power of two
  std::uint64_t offset_ns_ = 0;
};

}  // namespace chokepoint::capture::source
