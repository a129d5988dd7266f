// The rounds of a latency test, one after another: a warm-up, then samples until there are enough
// or time is over. Inlined into the loop that is measured.
#pragma once

#include "base/math/histogram.h"
#include "rdma/perf/monotonic.h"
#include "rdma/perf/test.h"

namespace chokepoint::rdma::perf {

// `exchange(number, before)` is a round: false where it was told to end. It began at `before`,
// which it may move on. `keep(histogram, round_trip)` takes a sample, `warm()` is called between
// warm-up and test.
template <class Exchange, class Keep, class Warm>
Result<Outcome> sample(const Plan& plan, Exchange exchange, Keep keep, Warm warm) {
  Outcome outcome{.latency_ns = math::Histogram{}};
  std::int64_t start = monotonic_ns();
  std::int64_t before = start;
  std::int64_t end = plan.warm_up == 0 && plan.time ? start + plan.time->count() : kNever;
  const std::uint64_t all = plan.warm_up + plan.iterations.value_or(UINT64_MAX / 2);
  for (std::uint64_t number = 1; number <= all && before < end; ++number) {
    TRY(const bool came, exchange(number, before));
    if (!came) {
      break;
    }
    const std::int64_t now = monotonic_ns();
    if (number > plan.warm_up) {
      ++outcome.messages;
      keep(*outcome.latency_ns, now - before);
    } else if (number == plan.warm_up) {
      start = now;
      end = plan.time ? now + plan.time->count() : kNever;
      warm();
    }
    before = now;
  }
  outcome.duration_ns = outcome.messages > 0 ? before - start : 0;
  return outcome;
}

}  // namespace chokepoint::rdma::perf
