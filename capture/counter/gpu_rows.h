// A reading of a GPU as rows of the record. Pure but for the sink.
#pragma once

#include <cstdint>

#include "capture/counter/gpu_session.h"
#include "capture/counter/sink.h"

namespace chokepoint::capture::counter {

// The GPU did it in the `span_ns` before.
void write_rows(const GpuReading& gpu, std::int64_t t_ns, std::int64_t span_ns, Sink& sink);

}  // namespace chokepoint::capture::counter
