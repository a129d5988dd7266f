#include "probe/latency/stability.h"

#include <cmath>
#include <numeric>

namespace chokepoint::probe::latency {
namespace {

double mean(const std::deque<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

void keep_last(std::deque<double>& values, double value, std::size_t count) {
  values.push_back(value);
  if (values.size() > count) {
    values.pop_front();
  }
}

}  // namespace

void Stability::add(double value) {
  keep_last(values_, value, kAverages);
  if (values_.size() == kAverages) {
    keep_last(averages_, mean(values_), kAverages);
  }
}

bool Stability::reached() const {
  if (averages_.size() < kAverages) {
    return false;
  }
  const double middle = mean(averages_);
  double squares = 0;
  for (const double average : averages_) {
    squares += (average - middle) * (average - middle);
  }
  const double deviation = std::sqrt(squares / static_cast<double>(kAverages));
  return middle > 0 && deviation <= kWithin * middle;
}

}  // namespace chokepoint::probe::latency
