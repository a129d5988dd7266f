#include "capture/source/time_unit.h"

namespace chokepoint::capture::source {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint8_t kPowerOfTwo = 0x80;
constexpr unsigned kDecimalsOfNs = 9;
constexpr unsigned kMostDecimals = 19;  // of 64 bits

std::uint64_t power_of_ten(unsigned exponent) {
  std::uint64_t power = 1;
  for (unsigned i = 0; i < exponent; ++i) {
    power *= 10;
  }
  return power;
}

}  // namespace

TimeUnit TimeUnit::of_resolution(std::uint8_t resolution) {
  TimeUnit unit;
  const unsigned exponent = resolution & (kPowerOfTwo - 1U);
  if ((resolution & kPowerOfTwo) != 0) {
    unit.factor_ = 0;
    unit.shift_ = exponent;
  } else if (exponent <= kDecimalsOfNs) {
    unit.factor_ = power_of_ten(kDecimalsOfNs - exponent);
  } else {
    unit.factor_ = 0;
    // Finer than this, 64 bits hold less than a nanosecond.
    const bool known = exponent - kDecimalsOfNs <= kMostDecimals;
    unit.divisor_ = known ? power_of_ten(exponent - kDecimalsOfNs) : UINT64_MAX;
  }
  return unit;
}

std::uint64_t TimeUnit::fraction(std::uint64_t ticks) const {
  if (divisor_ > 0) {
    return ticks / divisor_;
  }
  return static_cast<std::uint64_t>(Wide{ticks} * 1'000'000'000U >> shift_);
}

}  // namespace chokepoint::capture::source
