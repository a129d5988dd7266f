// A latency test, each side's part of it.
#pragma once

#include "rdma/perf/test.h"

namespace chokepoint::rdma::perf {

// Whether this plan's latency can be told with this memory.
Result<> check_latency(const Side& side, const Plan& plan);
Result<Outcome> run_latency(const Side& side, const Plan& plan);

}  // namespace chokepoint::rdma::perf
