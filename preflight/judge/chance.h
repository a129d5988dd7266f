// How likely so much loss is by chance. Pure functions.
#pragma once

namespace chokepoint::preflight {

// That at least so many come where `mean` are expected, and each comes by itself (Poisson).
double chance_of_at_least(double count, double mean);

}  // namespace chokepoint::preflight
