// Figures with their units, for people. Pure functions.
#pragma once

#include <string>

namespace chokepoint::math {

std::string number_text(double value);  // three digits or all before the point: 0.0521, 197
std::string quantity_text(double value, const std::string& unit);  // "197 Mb/s", "12 %"

}  // namespace chokepoint::math
