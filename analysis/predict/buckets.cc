#include "analysis/predict/buckets.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace chokepoint::analysis {
namespace {

// Beyond this many, buckets are so small a part of the whole that fewer, larger ones tell the same.
constexpr double kMostBuckets = 10'000;

}  // namespace

std::vector<double> buckets_of(double bytes, double bucket_bytes, double first_bytes) {
  std::vector<double> buckets;
  const double usual = std::max(bucket_bytes, bytes / kMostBuckets);
  double left = bytes;
  double next = std::min(first_bytes, usual);
  while (left > 0) {
    buckets.push_back(std::min(next, left));
    left -= buckets.back();
    next = usual;
  }
  return buckets;
}

std::vector<PlannedExchange> bucket_exchanges(Collective collective,
                                              const std::vector<double>& buckets, double start_ms,
                                              double end_ms) {
  const double all = std::accumulate(buckets.begin(), buckets.end(), 0.0);
  std::vector<PlannedExchange> exchanges;
  double made = 0;
  for (const double bytes : buckets) {
    made += bytes;
    exchanges.push_back({.collective = collective,
                         .bytes = bytes,
                         .ready_ms = start_ms + (end_ms - start_ms) * made / all});
  }
  return exchanges;
}

}  // namespace chokepoint::analysis
