#pragma once

namespace chokepoint::analysis {

// How far what the model told lies off what was measured.
inline double off_percent(double told, double true_value) { return (told / true_value - 1) * 100; }

}  // namespace chokepoint::analysis
