// Reads the job's GPUs on a thread of its own, so that a slow driver delays no sampler:
//
//   GpuWatch's thread:   open ─▶ read ─▶ wait an interval ─▶ read …
//                                  └─▶ the newest reading ──▶ newest(), once each ──▶ gpu_sampler.h
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "capture/counter/gpu_session.h"

namespace chokepoint::capture::counter {

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

}  // namespace chokepoint::capture::counter
