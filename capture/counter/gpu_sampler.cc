#include "capture/counter/gpu_sampler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/record/names.h"

namespace chokepoint::capture::counter {
namespace {

constexpr const char* kSource = "NVML";
constexpr double kPercentTolerance = 2;
constexpr double kRateToleranceBytesPerS = 10e6;
constexpr double kMemoryToleranceBytes = 64 << 20;
constexpr double kClockToleranceMhz = 30;

SeriesName series(std::string_view name, const std::string& subject, const char* unit) {
  return {std::string(name), subject, unit, kSource};
}

}  // namespace

void GpuSampler::write(const GpuReading& gpu, std::int64_t t_ns, Sink& sink) const {
  const auto share = [&](std::string_view name, const char* unit, std::optional<double> value,
                         double tolerance) {
    if (value) {
      sink.share(series(name, gpu.address, unit), tolerance)
          .see(t_ns, before_ns_ > 0 ? t_ns - before_ns_ : 0, *value);
    }
  };
  const auto level = [&](std::string_view name, const char* unit, std::optional<double> value,
                         double tolerance) {
    if (value) {
      sink.level(series(name, gpu.address, unit), tolerance).see(t_ns, *value);
    }
  };
  share(record::kGpuUtilization, "percent", gpu.busy_percent, kPercentTolerance);
  share(record::kGpuMemoryBusy, "percent", gpu.memory_busy_percent, kPercentTolerance);
  const auto rate = [&](std::string_view name, std::optional<double> value) {
    share(name, "bytes_per_s", value, kRateToleranceBytesPerS);
  };
  rate(record::kGpuPcieSent, gpu.pcie_sent_bytes_per_s);
  rate(record::kGpuPcieReceived, gpu.pcie_received_bytes_per_s);
  rate(record::kGpuNvlinkSent, gpu.nvlink_sent_bytes_per_s);
  rate(record::kGpuNvlinkReceived, gpu.nvlink_received_bytes_per_s);
  level(record::kGpuMemory, "bytes", gpu.memory_bytes, kMemoryToleranceBytes);
  level(record::kGpuClock, "mhz", gpu.clock_mhz, kClockToleranceMhz);
  level(record::kGpuThrottle, "bits", gpu.throttle_reasons, 0);
  if (gpu.replays) {
    sink.counter(series(record::kGpuReplays, gpu.address, "count"), Keep::Always, Wrap::At32Bits)
        .see(t_ns, *gpu.replays);
  }
}

void GpuSampler::note_users(const GpuReading& gpu, const Moment& moment, Sink& sink) {
  for (const std::uint64_t pid : gpu.pids) {
    const bool is_of_job = std::ranges::any_of(moment.processes, [&](const auto& process) {
      return static_cast<std::uint64_t>(process.pid) == pid;
    });
    if (is_of_job && users_.emplace(gpu.address, pid).second) {
      sink.event(moment.now_ns, record::kGpuProcess, gpu.address,
                 fmt::format(R"({{"pid":{}}})", pid));
    }
  }
}

// Of the job's GPUs, or of all where none of them is known.
void GpuSampler::sum_up(const GpuReadings& readings) {
  double sum = 0;
  int count = 0;
  for (const GpuReading& gpu : readings.gpus) {
    const bool is_of_job = users_.empty() || std::ranges::any_of(users_, [&](const auto& user) {
                             return user.first == gpu.address;
                           });
    if (is_of_job && gpu.busy_percent) {
      sum += *gpu.busy_percent;
      ++count;
    }
  }
  percent_ = count > 0 ? std::optional(sum / count) : std::nullopt;
}

void GpuSampler::sample(const Moment& moment, Sink& sink) {
  if (const std::optional<Error> problem = watch_->problem()) {
    sink.remark("GPUs: " + (problem->kind == ErrorKind::NotFound ? "no NVIDIA driver on this host"
                                                                 : describe(*problem)));
    return;
  }
  const std::optional<GpuReadings> readings = watch_->newest();
  if (!readings) {
    return;
  }
  for (const GpuReading& gpu : readings->gpus) {
    write(gpu, readings->t_ns, sink);
    note_users(gpu, moment, sink);
  }
  sum_up(*readings);
  before_ns_ = readings->t_ns;
}

void GpuSampler::tell(Figures& figures) const { figures.gpu_percent = percent_; }

}  // namespace chokepoint::capture::counter
