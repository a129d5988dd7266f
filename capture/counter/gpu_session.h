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

// Of all its links together, counted since the driver began to.
struct NvlinkReading {
  std::optional<double> active = {};  // links that are up
  std::optional<std::uint64_t> sent_bytes = {};
  std::optional<std::uint64_t> received_bytes = {};
  std::optional<std::uint64_t> crc_errors = {};
  std::optional<std::uint64_t> replays = {};
  std::optional<std::uint64_t> recoveries = {};
};

struct GpuReading {
  std::string address = {};  // 0000:3b:00.0
  std::optional<double> busy_percent = {};
  std::optional<double> memory_busy_percent = {};
  std::optional<double> memory_bytes = {};
  std::optional<double> clock_mhz = {};      // of its cores
  std::optional<double> max_clock_mhz = {};  // that they could run at
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

class GpuSession {
 public:
  static Result<std::unique_ptr<GpuSession>> open(const std::string& library);
  virtual ~GpuSession() = default;

  virtual std::vector<GpuReading> read() = 0;
};

}  // namespace chokepoint::capture::counter
