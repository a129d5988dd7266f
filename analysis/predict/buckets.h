// PyTorch's DistributedDataParallel: gradients leave in buckets while the backward pass goes on.
// Pure functions.
#pragma once

#include <vector>

#include "analysis/predict/exchange.h"

namespace chokepoint::analysis {

constexpr double kFirstBucketBytes = 1024 * 1024;
constexpr double kBucketBytes = 25.0 * 1024 * 1024;

// In the order in which they leave: a small one first, so that the network has something to do.
std::vector<double> buckets_of(double bytes, double bucket_bytes = kBucketBytes,
                               double first_bytes = kFirstBucketBytes);

// Of one pass of computing from start to end, a bucket's share of which makes its gradients.
std::vector<PlannedExchange> bucket_exchanges(Collective collective,
                                              const std::vector<double>& buckets, double start_ms,
                                              double end_ms);

}  // namespace chokepoint::analysis
