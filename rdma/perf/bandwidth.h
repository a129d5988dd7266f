// A bandwidth test's loops for the endpoint at hand.
#pragma once

#include "rdma/perf/layout.h"
#include "rdma/perf/test.h"
#include "rdma/perf/verifier.h"

namespace chokepoint::rdma::perf {

Result<Outcome> stream(const Side& side, const Plan& plan, const Layout& layout,
                       Verifier* verifier);
Result<Outcome> catch_all(const Side& side, const Plan& plan, const Layout& layout,
                          Verifier* verifier);

}  // namespace chokepoint::rdma::perf
