// What no figure of any network is beyond; numbers that are come from an agent that makes them up.
#pragma once

#include <cstddef>

namespace chokepoint::preflight::lead {

inline constexpr double kFastestMbps = 1e8;  // 100 Tb/s
inline constexpr double kMostBytes = 1e16;
inline constexpr double kMostPackets = 1e12;
inline constexpr double kLargestPacket = 1 << 20;  // of which the kernel may think on loopback
inline constexpr double kLongestMs = 3'600'000;
inline constexpr double kLongestUs = 3.6e9;
// A core may be counted a little over 100 % where its clock ticks are coarse.
inline constexpr double kMostPercent = 10'000;
inline constexpr double kMostHops = 255;
inline constexpr std::size_t kLongestName = 64;
inline constexpr std::size_t kLongestText = 4096;

}  // namespace chokepoint::preflight::lead
