#include "capture/counter/gpu_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/host/gpu.h"
#include "base/record/names.h"
#include "capture/counter/sampler.h"
#include "capture/counter/series.h"
#include "capture/counter/throttle_log.h"

namespace chokepoint::capture::counter {
namespace {

constexpr const char* kNvmlSource = "NVML";
// Smaller changes write no row: judgements.
constexpr double kPercentTolerance = 2;
constexpr double kRateToleranceBytesPerS = 10e6;
constexpr double kGpuMemoryToleranceBytes = 64 << 20;
constexpr double kClockToleranceMhz = 30;
constexpr double kTemperatureToleranceC = 2;
constexpr double kPowerToleranceW = 20;

// Writes a reading of a GPU as rows of the record; rates are means over the `span_ns` before it.
class Rows {
 public:
  Rows(const GpuReading& gpu, std::int64_t t_ns, std::int64_t span_ns, Sink& sink)
      : gpu_(gpu), t_ns_(t_ns), span_ns_(span_ns), sink_(sink) {}

  void write() {
    write_load();
    write_clocks();
    write_link();
    write_nvlink();
  }

 private:
  SeriesName series(std::string_view name) const {
    return {std::string(name), gpu_.address, kNvmlSource};
  }
  void share(std::string_view name, std::optional<double> value, double tolerance) {
    if (value) {
      sink_.share(series(name), tolerance).see(t_ns_, span_ns_, *value);
    }
  }
  void rate(std::string_view name, std::optional<double> value) {
    share(name, value, kRateToleranceBytesPerS);
  }
  void level(std::string_view name, std::optional<double> value, double tolerance = 0) {
    if (value) {
      sink_.level(series(name), tolerance).see(t_ns_, *value);
    }
  }
  void counter(std::string_view name, std::optional<std::uint64_t> value, Wrap wrap = Wrap::Never) {
    if (value) {
      sink_.counter(series(name), FirstRow::Always, wrap).see(t_ns_, *value);
    }
  }

  void write_load() {
    share(record::kGpuUtilization, gpu_.busy_percent, kPercentTolerance);
    share(record::kGpuKernels, gpu_.kernels_percent, kPercentTolerance);
    share(record::kGpuMemoryBusy, gpu_.memory_busy_percent, kPercentTolerance);
    rate(record::kGpuPcieSent, gpu_.pcie_sent_bytes_per_s);
    rate(record::kGpuPcieReceived, gpu_.pcie_received_bytes_per_s);
    rate(record::kGpuNvlinkSent, gpu_.nvlink_sent_bytes_per_s);
    rate(record::kGpuNvlinkReceived, gpu_.nvlink_received_bytes_per_s);
    level(record::kGpuMemory, gpu_.memory_bytes, kGpuMemoryToleranceBytes);
  }
  void write_clocks() {
    level(record::kGpuClock, gpu_.clock_mhz, kClockToleranceMhz);
    level(record::kGpuMaxClock, gpu_.max_clock_mhz);
    level(record::kGpuMemoryClock, gpu_.memory_clock_mhz, kClockToleranceMhz);
    level(record::kGpuMaxMemoryClock, gpu_.max_memory_clock_mhz);
    level(record::kGpuTemperature, gpu_.temperature_c, kTemperatureToleranceC);
    level(record::kGpuPower, gpu_.power_w, kPowerToleranceW);
    level(record::kGpuPowerLimit, gpu_.power_limit_w);
    if (gpu_.throttle_reasons) {
      level(record::kGpuThrottle, static_cast<double>(*gpu_.throttle_reasons));
    }
  }

  bool is_busy() const {
    return gpu_.busy_percent.value_or(0) >= kBusyPercent ||
           gpu_.pcie_sent_bytes_per_s.value_or(0) >= kBusyBytesPerS ||
           gpu_.pcie_received_bytes_per_s.value_or(0) >= kBusyBytesPerS;
  }
  void write_link() {
    if (is_busy()) {
      level(record::kGpuBusyGeneration, gpu_.pcie_generation);
      level(record::kGpuBusyWidth, gpu_.pcie_width);
    }
    level(record::kGpuMaxGeneration, gpu_.pcie_max_generation);
    level(record::kGpuMaxWidth, gpu_.pcie_max_width);
    counter(record::kGpuReplays, gpu_.replays, Wrap::At32Bits);
  }
  void write_nvlink() {
    const NvlinkReading& nvlink = gpu_.nvlink;
    level(record::kGpuNvlinkActive, nvlink.active);
    counter(record::kGpuNvlinkSentBytes, nvlink.sent_bytes);
    counter(record::kGpuNvlinkReceivedBytes, nvlink.received_bytes);
    counter(record::kGpuNvlinkCrcErrors, nvlink.crc_errors);
    counter(record::kGpuNvlinkReplays, nvlink.replays);
    counter(record::kGpuNvlinkRecoveries, nvlink.recoveries);
  }

  const GpuReading& gpu_;
  std::int64_t t_ns_;
  std::int64_t span_ns_;
  Sink& sink_;
};

// What GpuWatch read last, and which of the job's processes use which GPU.
class GpuSampler final : public Sampler {
 public:
  explicit GpuSampler(std::unique_ptr<GpuWatch> watch) : watch_(std::move(watch)) {}

  void sample(const Moment& moment, Sink& sink) override {
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
      Rows(gpu, readings->t_ns, before_ns_ > 0 ? readings->t_ns - before_ns_ : 0, sink).write();
      note_throttling(gpu, readings->t_ns, sink);
      note_users(gpu, moment, sink);
    }
    sum_up(*readings);
    before_ns_ = readings->t_ns;
  }

  void report(Figures& figures) const override {
    figures.gpu_percent = percent_;
    figures.slowed_gpus = slowed_;
  }

 private:
  void note_users(const GpuReading& gpu, const Moment& moment, Sink& sink) {
    for (const std::uint64_t pid : gpu.pids) {
      const bool is_user = std::ranges::any_of(moment.processes, [&](const auto& process) {
        return static_cast<std::uint64_t>(process.pid) == pid;
      });
      if (is_user && users_.emplace(gpu.address, pid).second) {
        sink.event(moment.now_ns, record::kGpuProcess, gpu.address,
                   fmt::format(R"({{"pid":{}}})", pid));
      }
    }
  }

  void note_throttling(const GpuReading& gpu, std::int64_t t_ns, Sink& sink) {
    if (gpu.throttle_reasons) {
      throttles_.try_emplace(gpu.address, gpu.address)
          .first->second.see(t_ns, *gpu.throttle_reasons, sink);
    }
  }

  // Whether the job uses this GPU; true for all GPUs until one is known to be the job's.
  bool is_of_job(const GpuReading& gpu) const {
    return users_.empty() ||
           std::ranges::any_of(users_, [&](const auto& user) { return user.first == gpu.address; });
  }

  void sum_up(const GpuReadings& readings) {
    double sum = 0;
    int count = 0;
    slowed_.clear();
    for (const GpuReading& gpu : readings.gpus) {
      if (is_of_job(gpu) && gpu.busy_percent) {
        sum += *gpu.busy_percent;
        ++count;
      }
      for (const host::ThrottleReason& reason : host::throttle_reasons()) {
        if (is_of_job(gpu) && gpu.throttle_reasons && reason.slows) {
          slowed_[std::string(reason.name)] += (*gpu.throttle_reasons & reason.bit) != 0 ? 1 : 0;
        }
      }
    }
    percent_ = count > 0 ? std::optional(sum / count) : std::nullopt;
  }

  std::unique_ptr<GpuWatch> watch_;
  std::int64_t before_ns_ = 0;
  std::set<std::pair<std::string, std::uint64_t>> users_;  // a GPU's address and a pid of the job
  std::map<std::string, ThrottleLog> throttles_;           // by the GPU's address
  std::map<std::string, int> slowed_;
  std::optional<double> percent_;
};

}  // namespace

std::unique_ptr<Sampler> gpu_sampler(std::unique_ptr<GpuWatch> watch) {
  return std::make_unique<GpuSampler>(std::move(watch));
}

}  // namespace chokepoint::capture::counter
