// What GpuWatch read last, as rows of the record, and which of the job's processes use which GPU.
// The samplers' thread.
#pragma once

#include <memory>

#include "capture/counter/gpu_watch.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {

std::unique_ptr<Sampler> gpu_sampler(std::unique_ptr<GpuWatch> watch);

}  // namespace chokepoint::capture::counter
