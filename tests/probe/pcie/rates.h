// Rates that are told in bytes, in the findings' 10^6 bit/s.
#pragma once

namespace chokepoint::probe::pcie {

constexpr double kMegabyte = 8;
constexpr double kGigabyte = 8000;

}  // namespace chokepoint::probe::pcie
