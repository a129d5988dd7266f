// Quantities as people type and read them. A bit rate is decimal (10G = 10^10 bit/s); a size with a
// bare or an "i" suffix is binary (64K, 64KiB = 65536), with "B" alone decimal (64KB = 64000), as
// in coreutils. Values and pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/sys/error.h"

namespace chokepoint::math {

struct Bytes {
  std::uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

struct Rate {
  double bits_per_second = 0;
  auto operator<=>(const Rate&) const = default;
};

Result<Bytes> parse_bytes(std::string_view text);  // 4096, 64K, 1.5MiB, 2GB
Result<Rate> parse_rate(std::string_view text);    // 10G, 9.4Gb/s, 100Mbit, 25GB/s, 500kbps
Result<std::chrono::nanoseconds> parse_duration(std::string_view text);  // 10 (s), 1.5ms, 2h
// Of what takes micro- or milliseconds, so that nobody means seconds by 20: 15ms, 2us, and 0.
Result<std::chrono::nanoseconds> parse_short_duration(std::string_view text);
Result<double> parse_share(std::string_view text);    // 0.001 or 0.1%: from 0 to 1
Result<double> parse_percent(std::string_view text);  // 1 or 1%: a number of percent
Result<double> parse_count(std::string_view text);    // 708M, 1.5B: a thousand at a time

// Factors between what is measured and what is shown.
inline constexpr double kNsPerSecond = 1e9;
inline constexpr double kNsPerMs = 1e6;
inline constexpr double kBits = 8;       // in a byte
inline constexpr double kMega = 1e6;     // bit/s in a Mb/s
inline constexpr double kPercent = 100;  // of a share of 1

// Mb/s; 0 where no time passed.
constexpr double mbps(double bytes, double seconds) {
  return seconds > 0 ? bytes * kBits / seconds / kMega : 0;
}

// "940", "94.0", "9.40": as many as a measurement has.
std::string three_digits(double value);
std::string format_bytes(double bytes);           // 1.50 GB; 64 KiB if it is just that
std::string format_rate(double bits_per_second);  // 9.41 Gb/s
std::string format_duration(std::chrono::nanoseconds duration);  // 1.50 ms, 29.8 µs
std::string format_ms(double ms);                                // the same of milliseconds

}  // namespace chokepoint::math
