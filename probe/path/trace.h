// Runs a trace: asks the plan what to send, sends it, hands the answers back, until all is known or
// time is up. Blocks; one thread a trace.
#pragma once

#include <cstdint>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "probe/path/hop.h"
#include "probe/path/prober.h"
#include "probe/path/trace_plan.h"

namespace chokepoint::probe::path {

// Source, target and protocol are the caller's to fill in. `until_ns` is monotonic.
Result<Trace> trace(Prober& prober, const PlanOptions& options, const sys::Clock& clock,
                    std::int64_t until_ns);

}  // namespace chokepoint::probe::path
