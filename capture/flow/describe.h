// A flow's state to the facts that others read. Pure.
#pragma once

#include "capture/flow/facts.h"
#include "capture/flow/flow.h"

namespace chokepoint::capture::flow {

FlowFacts describe(const Flow& flow);

}  // namespace chokepoint::capture::flow
