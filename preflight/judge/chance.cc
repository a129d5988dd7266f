#include "preflight/judge/chance.h"

#include <cmath>

#include "base/math/statistics.h"

namespace chokepoint::preflight {

double chance_of_at_least(double count, double mean) {
  if (count <= 0 || count <= mean) {
    return 1;
  }
  if (mean <= 0) {
    return 0;
  }
  // Beyond the mean each term is smaller than the one before by a factor that shrinks.
  double term = std::exp(-mean + count * std::log(mean) - std::lgamma(count + 1));
  double sum = 0;
  for (double next = count + 1; term > sum * 1e-12; ++next) {
    sum += term;
    term *= mean / next;
  }
  return sum;
}

double spread_of(const std::vector<double>& values) {
  constexpr double kDeviation = 1.4826;  // a normal spread of a median absolute deviation
  return kDeviation * math::median_absolute_deviation(values).value_or(0);
}

}  // namespace chokepoint::preflight
