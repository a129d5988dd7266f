// NVIDIA's management library, kept open while a job runs, and what it says of each GPU. A call may
// take from 20 ms to seconds, so a session belongs to a thread of its own. What a GPU or a driver
// cannot tell is nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/error.h"

namespace chokepoint::capture::counter {

struct GpuReading {
  std::string address = {};  // 0000:3b:00.0
  std::optional<double> busy_percent = {};
  std::optional<double> memory_busy_percent = {};
  std::optional<double> memory_bytes = {};
  std::optional<double> clock_mhz = {};         // of its cores
  std::optional<double> throttle_reasons = {};  // NVML's bits
  std::optional<std::uint64_t> replays = {};
  std::optional<double> pcie_sent_bytes_per_s = {};
  std::optional<double> pcie_received_bytes_per_s = {};
  std::optional<double> nvlink_sent_bytes_per_s = {};
  std::optional<double> nvlink_received_bytes_per_s = {};
  std::vector<std::uint64_t> pids = {};  // that compute on it
};

class GpuSession {
 public:
  static Result<std::unique_ptr<GpuSession>> open(const std::string& library);
  virtual ~GpuSession() = default;

  virtual std::vector<GpuReading> read() = 0;
};

}  // namespace chokepoint::capture::counter
