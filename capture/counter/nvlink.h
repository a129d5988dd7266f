// A GPU's NVLinks as NVML counts them: how many are up, what they moved and what went wrong on
// them. A GPU without any is asked once. Part of a GpuSession and its thread; the library outlives
// it.
#pragma once

#include "base/sys/library.h"
#include "capture/counter/gpu_session.h"
#include "capture/counter/nvml.h"

namespace chokepoint::capture::counter {

class Nvlink {
 public:
  Nvlink(const sys::Library& library, nvml::Device device);

  NvlinkReading read() const;

 private:
  std::optional<double> active_links() const;
  void read_counters(NvlinkReading& reading) const;

  const sys::Library* library_;
  nvml::Device device_;
  bool has_any_ = false;
};

}  // namespace chokepoint::capture::counter
