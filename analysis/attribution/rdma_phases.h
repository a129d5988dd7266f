// Whether a job's data go by RDMA, and what its phases are then: those that rest on sockets are
// none of a job that hardly uses them. Pure.
#pragma once

#include "analysis/phases/phases.h"

namespace chokepoint::analysis {

// Most of them, as far as ports can tell.
bool goes_by_rdma(const RunData& run, const Clocks& clocks, const StepLine& steps);

// `seen` where the library told of its collectives, else when packets passed. Where neither is
// known the whole step is exposed as far as anybody knows, unless the line needs too little of it
// to matter.
Phases rdma_phases(const RunData& run, const Clocks& clocks, const StepLine& steps, Phases seen);

}  // namespace chokepoint::analysis
