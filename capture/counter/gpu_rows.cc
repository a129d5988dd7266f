#include "capture/counter/gpu_rows.h"

#include "base/record/names.h"
#include "capture/counter/pcie_sampler.h"

namespace chokepoint::capture::counter {
namespace {

constexpr const char* kNvmlSource = "NVML";
constexpr double kPercentTolerance = 2;
constexpr double kRateToleranceBytesPerS = 10e6;
constexpr double kGpuMemoryToleranceBytes = 64 << 20;
constexpr double kClockToleranceMhz = 30;
constexpr double kTemperatureToleranceC = 2;
constexpr double kPowerToleranceW = 20;

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
  SeriesName series(std::string_view name, const char* unit) const {
    return {std::string(name), gpu_.address, unit, kNvmlSource};
  }
  void share(std::string_view name, const char* unit, std::optional<double> value,
             double tolerance) {
    if (value) {
      sink_.share(series(name, unit), tolerance).see(t_ns_, span_ns_, *value);
    }
  }
  void rate(std::string_view name, std::optional<double> value) {
    share(name, "bytes_per_s", value, kRateToleranceBytesPerS);
  }
  void level(std::string_view name, const char* unit, std::optional<double> value,
             double tolerance = 0) {
    if (value) {
      sink_.level(series(name, unit), tolerance).see(t_ns_, *value);
    }
  }
  void counter(std::string_view name, const char* unit, std::optional<std::uint64_t> value,
               Wrap wrap = Wrap::Never) {
    if (value) {
      sink_.counter(series(name, unit), Keep::Always, wrap).see(t_ns_, *value);
    }
  }

  void write_load() {
    share(record::kGpuUtilization, "percent", gpu_.busy_percent, kPercentTolerance);
    share(record::kGpuMemoryBusy, "percent", gpu_.memory_busy_percent, kPercentTolerance);
    rate(record::kGpuPcieSent, gpu_.pcie_sent_bytes_per_s);
    rate(record::kGpuPcieReceived, gpu_.pcie_received_bytes_per_s);
    rate(record::kGpuNvlinkSent, gpu_.nvlink_sent_bytes_per_s);
    rate(record::kGpuNvlinkReceived, gpu_.nvlink_received_bytes_per_s);
    level(record::kGpuMemory, "bytes", gpu_.memory_bytes, kGpuMemoryToleranceBytes);
  }
  void write_clocks() {
    level(record::kGpuClock, "mhz", gpu_.clock_mhz, kClockToleranceMhz);
    level(record::kGpuMaxClock, "mhz", gpu_.max_clock_mhz);
    level(record::kGpuMemoryClock, "mhz", gpu_.memory_clock_mhz, kClockToleranceMhz);
    level(record::kGpuMaxMemoryClock, "mhz", gpu_.max_memory_clock_mhz);
    level(record::kGpuTemperature, "c", gpu_.temperature_c, kTemperatureToleranceC);
    level(record::kGpuPower, "w", gpu_.power_w, kPowerToleranceW);
    level(record::kGpuPowerLimit, "w", gpu_.power_limit_w);
    if (gpu_.throttle_reasons) {
      level(record::kGpuThrottle, "bits", static_cast<double>(*gpu_.throttle_reasons));
    }
  }

  bool is_busy() const {
    return gpu_.busy_percent.value_or(0) >= kBusyPercent ||
           gpu_.pcie_sent_bytes_per_s.value_or(0) >= kBusyBytesPerS ||
           gpu_.pcie_received_bytes_per_s.value_or(0) >= kBusyBytesPerS;
  }
  void write_link() {
    if (is_busy()) {
      level(record::kGpuBusyGeneration, "generation", gpu_.pcie_generation);
      level(record::kGpuBusyWidth, "lanes", gpu_.pcie_width);
    }
    level(record::kGpuMaxGeneration, "generation", gpu_.pcie_max_generation);
    level(record::kGpuMaxWidth, "lanes", gpu_.pcie_max_width);
    counter(record::kGpuReplays, "count", gpu_.replays, Wrap::At32Bits);
  }
  void write_nvlink() {
    const NvlinkReading& nvlink = gpu_.nvlink;
    level(record::kGpuNvlinkActive, "links", nvlink.active);
    counter(record::kGpuNvlinkSentBytes, "bytes", nvlink.sent_bytes);
    counter(record::kGpuNvlinkReceivedBytes, "bytes", nvlink.received_bytes);
    counter(record::kGpuNvlinkCrcErrors, "count", nvlink.crc_errors);
    counter(record::kGpuNvlinkReplays, "count", nvlink.replays);
    counter(record::kGpuNvlinkRecoveries, "count", nvlink.recoveries);
  }

  const GpuReading& gpu_;
  std::int64_t t_ns_;
  std::int64_t span_ns_;
  Sink& sink_;
};

}  // namespace

void write_rows(const GpuReading& gpu, std::int64_t t_ns, std::int64_t span_ns, Sink& sink) {
  Rows(gpu, t_ns, span_ns, sink).write();
}

}  // namespace chokepoint::capture::counter
