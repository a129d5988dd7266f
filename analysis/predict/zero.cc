#include "analysis/predict/zero.h"

#include <algorithm>

#include "analysis/predict/buckets.h"

namespace chokepoint::analysis {
namespace {

void append(std::vector<PlannedExchange>& to, const std::vector<PlannedExchange>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

std::vector<PlannedExchange> zero_exchanges(int stage, double bytes, double bucket_bytes,
                                            double compute_ms, double forward_ms) {
  const std::vector<double> buckets = buckets_of(bytes, bucket_bytes, bucket_bytes);
  std::vector<PlannedExchange> exchanges;
  if (stage >= 3) {
    append(exchanges, bucket_exchanges(Collective::AllGather, buckets, 0, forward_ms));
    append(exchanges, bucket_exchanges(Collective::AllGather, buckets, forward_ms, compute_ms));
  }
  append(exchanges, bucket_exchanges(Collective::ReduceScatter, buckets, forward_ms, compute_ms));
  // Parameters of the next layers are gathered between the gradients of those before.
  std::ranges::stable_sort(exchanges, {}, &PlannedExchange::ready_ms);
  if (stage < 3) {
    exchanges.push_back(
        {.collective = Collective::AllGather, .bytes = bytes, .ready_ms = compute_ms});
  }
  return exchanges;
}

}  // namespace chokepoint::analysis
