// Whether a load has got as fast as it will, as responsiveness tests judge it: the last four moving
// averages lie within 5 % of each other. Fed with one figure an interval. One thread.
#pragma once

#include <cstddef>
#include <deque>

namespace chokepoint::probe::latency {

class Stability {
 public:
  static constexpr std::size_t kAverages = 4;
  static constexpr double kWithin = 0.05;

  void add(double value);
  bool reached() const;

 private:
  std::deque<double> values_;
  std::deque<double> averages_;
};

}  // namespace chokepoint::probe::latency
