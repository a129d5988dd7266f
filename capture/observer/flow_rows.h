// What the engine tells of a flow as rows of the run record. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/record/entities.h"
#include "base/record/samples.h"
#include "capture/flow/facts.h"

namespace chokepoint::capture::observer {

record::FlowTotal total_of(std::int64_t flow, std::size_t direction, const flow::FlowFacts& facts);

// Without the flow, the direction and the time, which the bin does not know.
record::FlowSample sample_of(const flow::Bin& bin);

}  // namespace chokepoint::capture::observer
