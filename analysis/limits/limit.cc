#include "analysis/limits/limit.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace chokepoint::analysis {

const char* name_of(Limit limit) {
  static constexpr std::array kNames{
      "link full",         "loss",           "receive window", "send buffer",
      "congestion window", "library credit", "round trip"};
  return kNames.at(static_cast<std::size_t>(limit));
}

double LimitTimes::sum() const { return std::reduce(ns.begin(), ns.end()); }

LimitTimes& LimitTimes::operator+=(const LimitTimes& other) {
  std::ranges::transform(ns, other.ns, ns.begin(), std::plus{});
  return *this;
}

LimitTimes LimitTimes::operator*(double factor) const {
  LimitTimes scaled = *this;
  for (double& time : scaled.ns) {
    time *= factor;
  }
  return scaled;
}

}  // namespace chokepoint::analysis
