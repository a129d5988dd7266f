// The job's GPUs: what NVIDIA's management library (NVML) reports of each, read on a thread of its
// own, and when a GPU is kept below its clocks.
//
//   GpuWatch's thread:   open ─▶ read ─▶ wait an interval ─▶ read …
//                                  └─▶ the newest reading ──▶ newest(), once each ──▶ GpuSampler
//
// A call into the driver takes from 20 ms to seconds, so a GpuSession belongs to the watch's thread
// alone, and a slow driver delays no sampler. All else is called by the samplers' thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "capture/counter/sampler.h"

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

struct GpuReadings {
  std::int64_t t_ns = 0;
  std::vector<GpuReading> gpus = {};
};

// Its thread owns all that it needs: one that hangs in the driver is left behind at the end.
// newest() by one thread; the clock outlives the watch.
class GpuWatch {
 public:
  using Open = std::function<Result<std::unique_ptr<GpuSession>>()>;

  GpuWatch(Open open, std::chrono::nanoseconds interval, const sys::Clock& clock);
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;
  ~GpuWatch();

  // What was read since the last call.
  std::optional<GpuReadings> newest();
  // Why there are no readings, once that is known.
  std::optional<Error> problem() const;

 private:
  struct Shared;
  static void run(const std::shared_ptr<Shared>& shared, const Open& open,
                  std::chrono::nanoseconds interval);

  std::shared_ptr<Shared> shared_;
};

// When one GPU began to be kept below its clocks, for which reason, and for how long: two events of
// the record for each period. A reason that is absent for less than kGoneNs has not ended, because
// at a power cap it comes and goes.
class ThrottleLog {
 public:
  explicit ThrottleLog(std::string gpu) : gpu_(std::move(gpu)) {}

  // NVML's bits at that moment; each holds since the last call.
  void see(std::int64_t t_ns, std::uint64_t bits, Sink& sink);

 private:
  struct Period {
    std::int64_t last_ns = 0;  // seen
    std::int64_t held_ns = 0;
  };

  void hold(std::int64_t t_ns, std::string_view reason, Sink& sink);
  void end_old(std::int64_t t_ns, Sink& sink);

  std::string gpu_;
  std::int64_t before_ns_ = 0;
  std::map<std::string_view, Period> periods_;
};

std::unique_ptr<Sampler> gpu_sampler(std::unique_ptr<GpuWatch> watch);

}  // namespace chokepoint::capture::counter
