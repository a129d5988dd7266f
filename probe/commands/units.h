// Factors between what is measured and what is shown. Values.
#pragma once

namespace chokepoint::probe {

inline constexpr double kMega = 1e6;     // bit/s in a Mb/s
inline constexpr double kPercent = 100;  // of a share of 1
inline constexpr double kNsPerMs = 1e6;

}  // namespace chokepoint::probe
