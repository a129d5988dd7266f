// What tests of predictions share: bytes in powers of 1024, and the error of a prediction.
#pragma once

namespace chokepoint::analysis {

constexpr double kMiB = 1024.0 * 1024;
constexpr double kGiB = 1024 * kMiB;

inline double off_percent(double predicted, double measured) {
  return (predicted / measured - 1) * 100;
}

}  // namespace chokepoint::analysis
