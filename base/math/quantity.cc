#include "base/math/quantity.h"

#include <fmt/format.h>

#include <cmath>

#include "base/math/units.h"

namespace chokepoint::math {

std::string number_text(double value) {
  constexpr double kWhole = 100;
  constexpr double kTenths = 10;
  constexpr double kHundredths = 0.1;
  const double size = std::abs(value);
  if (size >= kWhole || value == std::round(value)) {
    return fmt::format("{:.0f}", value);
  }
  return size >= kTenths       ? fmt::format("{:.1f}", value)
         : size >= kHundredths ? fmt::format("{:.2f}", value)
                               : fmt::format("{:.2g}", value);
}

std::string quantity_text(double value, const std::string& unit) {
  if (unit == "ms") {
    return format_ms(value);
  }
  if (unit == "bytes") {
    return format_bytes(value);
  }
  if (unit == "mbps" || unit == "Mb/s") {
    return format_rate(value * kMega);
  }
  if (unit == "percent") {
    return number_text(value) + " %";
  }
  if (unit == "us") {
    return format_ms(value / 1e3);
  }
  return unit.empty() ? number_text(value) : number_text(value) + " " + unit;
}

}  // namespace chokepoint::math
