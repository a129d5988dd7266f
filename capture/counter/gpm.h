// NVIDIA's GPU performance monitoring (Hopper and later): mean rates between two samples, of which
// the later one becomes the next reading's earlier one. Part of a GpuSession and its thread; the
// library outlives it.
#pragma once

#include <memory>

#include "base/sys/library.h"
#include "capture/counter/gpu_session.h"
#include "capture/counter/nvml.h"

namespace chokepoint::capture::counter {

class Gpm {
 public:
  // Null where the library or the GPU has no such thing.
  static std::unique_ptr<Gpm> of(const sys::Library& library, nvml::Device device);
  Gpm(const Gpm&) = delete;
  Gpm& operator=(const Gpm&) = delete;
  ~Gpm();

  void read(GpuReading& reading);

 private:
  Gpm(const sys::Library& library, nvml::Device device) : library_(library), device_(device) {}
  bool take(nvml::GpmSample sample) const;

  const sys::Library& library_;
  nvml::Device device_;
  nvml::GpmSample earlier_ = nullptr;
  nvml::GpmSample later_ = nullptr;
  bool has_earlier_ = false;
  std::unique_ptr<nvml::GpmRequest> request_ = std::make_unique<nvml::GpmRequest>();
};

}  // namespace chokepoint::capture::counter
