// A flow as chokepoint.capture/1 tells it. What only TCP has is null of another protocol. Pure
// functions.
#pragma once

#include <string>
#include <vector>

#include "base/cli/output.h"
#include "base/math/statistics.h"
#include "capture/flow/facts.h"
#include "capture/flow/series.h"

namespace chokepoint::capture {

// `first_ns`: of the whole capture; a flow's times count from there.
cli::Json flow_body(const flow::FlowFacts& facts, const std::string& interface,
                    std::int64_t first_ns);

// One direction's course: a row a bin.
cli::Json series_body(const std::vector<flow::Bin>& bins, std::int64_t first_ns);

cli::Json distribution_body(const math::Distribution& values);

double seconds_of(std::int64_t nanoseconds);

}  // namespace chokepoint::capture
