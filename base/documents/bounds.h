// The largest valid values of a document's figures, from any program: a larger one cannot be a
// measurement. Constants.
#pragma once

namespace chokepoint::documents {

inline constexpr double kMaxMbps = 1e8;      // 100 Tb/s
inline constexpr double kMaxMs = 3'600'000;  // an hour
inline constexpr double kMaxUs = 1e3 * kMaxMs;
inline constexpr double kMaxClockMs = 1e13;  // between two clocks: three hundred years
inline constexpr double kMaxSeconds = 1e8;
inline constexpr double kMaxBytes = 1e16;
// Of one core, for all threads together. One core may be counted a little over 100 % where its
// clock ticks are coarse.
inline constexpr double kMaxPercent = 1e6;

}  // namespace chokepoint::documents
