// GPUs as NVIDIA's management library (NVML) reports them: load, clocks, PCIe, NVLink, and rates by
// GPM. A call into the driver takes from 20 ms to seconds, so a session belongs to one thread, that
// of gpu_watch.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::capture::counter {

// Sums over all of a GPU's NVLinks; counts are since the driver was loaded.
struct NvlinkReading {
  std::optional<double> active = {};  // links that are up
  std::optional<std::uint64_t> sent_bytes = {};
  std::optional<std::uint64_t> received_bytes = {};
  std::optional<std::uint64_t> crc_errors = {};
  std::optional<std::uint64_t> replays = {};
  std::optional<std::uint64_t> recoveries = {};
};

// nullopt: this GPU or its driver does not report it.
struct GpuReading {
  std::string address = {};                    // 0000:3b:00.0
  std::optional<double> busy_percent = {};     // of the time, with kernels or copies
  std::optional<double> kernels_percent = {};  // with kernels
  std::optional<double> memory_busy_percent = {};
  std::optional<double> memory_bytes = {};
  std::optional<double> clock_mhz = {};  // of the streaming multiprocessors
  std::optional<double> max_clock_mhz = {};
  std::optional<double> memory_clock_mhz = {};
  std::optional<double> max_memory_clock_mhz = {};
  std::optional<double> temperature_c = {};
  std::optional<double> power_w = {};
  std::optional<double> power_limit_w = {};
  std::optional<std::uint64_t> throttle_reasons = {};  // NVML's bits, base/host/gpu.h
  std::optional<double> pcie_generation = {};          // of its own link, now
  std::optional<double> pcie_width = {};
  std::optional<double> pcie_max_generation = {};  // what GPU and slot can do
  std::optional<double> pcie_max_width = {};
  std::optional<std::uint64_t> replays = {};
  std::optional<double> pcie_sent_bytes_per_s = {};
  std::optional<double> pcie_received_bytes_per_s = {};
  std::optional<double> nvlink_sent_bytes_per_s = {};
  std::optional<double> nvlink_received_bytes_per_s = {};
  NvlinkReading nvlink = {};
  std::vector<std::uint64_t> pids = {};  // that compute on it
};

// The library, kept open while the job runs.
class GpuSession {
 public:
  static Result<std::unique_ptr<GpuSession>> open(const std::string& library);
  virtual ~GpuSession() = default;

  virtual std::vector<GpuReading> read() = 0;
};

}  // namespace chokepoint::capture::counter
