// Lays out the requests of a test, once and before the first message, and posts the receives.
#pragma once

#include "base/sys/error.h"
#include "rdma/perf/layout.h"
#include "rdma/perf/test.h"

namespace chokepoint::rdma::perf {

// What goes inline is copied by the processor while it is posted.
bool goes_inline(const Plan& plan);
Result<> lay_out_sends(const Side& side, const Plan& plan, const Layout& layout);
Result<> lay_out_receives(const Side& side, const Layout& layout);

}  // namespace chokepoint::rdma::perf
