// Figures as the line and the summary write them. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/record/samples.h"

namespace chokepoint::capture::live {

inline constexpr double kPercent = 100;
inline constexpr double kMsPerSecond = 1e3;

std::string_view name_of(record::StepSource source);  // "marks" …
std::string step_text(double ms);                     // "182 ms", "12.3 s"
std::string clock_text(double seconds);               // "03:25", "1:03:25"
std::string grouped(std::uint64_t number);            // "15,000,000"
// "0.01 %", "<0.01 %" where it is less and not nothing.
std::string share_text(std::uint64_t part, std::uint64_t whole);
// Both at the unit of the larger: "out 940 in 938 Mb/s".
std::string rates_text(double sent_mbps, double received_mbps);

}  // namespace chokepoint::capture::live
