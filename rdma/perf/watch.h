// The passive side whose memory is used: nothing to do but to notice that the test is over.
#pragma once

#include "rdma/perf/test.h"

namespace chokepoint::rdma::perf {

Result<Outcome> watch(Attention& attention);

}  // namespace chokepoint::rdma::perf
