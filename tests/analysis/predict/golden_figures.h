// What tests of predictions share: bytes in powers of 1024, the error of a prediction, and
// bandwidth as nccl-tests counts it.
#pragma once

#include "analysis/predict/exchange_time.h"

namespace chokepoint::analysis {

constexpr double kMiB = 1024.0 * 1024;
constexpr double kGiB = 1024 * kMiB;

inline double off_percent(double predicted, double measured) {
  return (predicted / measured - 1) * 100;
}

inline double bus_mbps(Collective collective, double ranks, double bytes, double ms) {
  return bytes * 8 / ms / 1000 * bus_factor(collective, ranks);
}

}  // namespace chokepoint::analysis
