// Factors between what is measured and what is shown. Values.
#pragma once

namespace chokepoint::capture {

inline constexpr double kNsPerSecond = 1e9;
inline constexpr double kNsPerMs = 1e6;
inline constexpr double kBits = 8;       // in a byte
inline constexpr double kMega = 1e6;     // bit/s in a Mb/s
inline constexpr double kPercent = 100;  // of a share of 1

}  // namespace chokepoint::capture
