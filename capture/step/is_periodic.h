// Whether a series of lengths or sizes goes through the same changes again and again, every few
// values. Real steps vary by chance, or one of many is longer than the rest. A pure function.
#pragma once

#include <span>

namespace chokepoint::capture::step {

bool is_periodic(std::span<const double> values);

}  // namespace chokepoint::capture::step
