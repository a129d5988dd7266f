// Samplers of the cores: busy time, softirq, and time that threads waited for resources.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "base/host/cpu.h"
#include "base/record/names.h"
#include "base/sys/root.h"
#include "capture/counter/kernel_file.h"
#include "capture/counter/sampler.h"
#include "capture/counter/series.h"

namespace chokepoint::capture::counter {
namespace {

constexpr const char* kProcStatSource = "/proc/stat";
constexpr std::size_t kMaxCores = 8;  // that get a row per reading, by each of the two measures

// USER_HZ ticks of 10 ms: proc_stat(5).
std::uint64_t ns_of(std::int64_t ticks) {
  static const auto tick_ns = 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(ticks) * tick_ns;
}

SeriesName series(std::string_view name, std::string subject) {
  return {std::string(name), std::move(subject), kProcStatSource};
}

// Which cores grew most by one measure, in the order of `now`.
std::vector<bool> busiest_by(std::int64_t host::CoreTime::* measure, const host::CoreTimes& before,
                             const host::CoreTimes& now) {
  std::vector<std::uint64_t> growths;
  for (const auto& [number, time] : now) {
    const auto then = before.find(number);
    const std::int64_t growth = then == before.end() ? 0 : time.*measure - then->second.*measure;
    growths.push_back(growth > 0 ? static_cast<std::uint64_t>(growth) : 0);
  }
  return busiest_of(growths, kMaxCores);
}

// From /proc/stat: each core's busy time, and the part of it in softirq, where packets are
// received. Each reading gives a sum over all cores, and rows of the cores that did most since the
// last one.
class CpuSampler final : public Sampler {
 public:
  explicit CpuSampler(const sys::Root& root) : stat_(root, "/proc/stat") {}

  void sample(const Moment& moment, Sink& sink) override {
    const Result<std::string_view> text = stat_.read(buffer_);
    if (!text) {
      sink.remark("cores: " + describe(text.error()));
      return;
    }
    host::CoreTimes times = host::core_times_in(*text);
    if (times.empty()) {
      sink.remark("cores: none in /proc/stat");
      return;
    }
    write_sum(moment.now_ns, times, sink);
    write_cores(moment.now_ns, times, sink);
    update_busiest(moment.now_ns, times);
    before_ = std::move(times);
  }

  void report(Figures& figures) const override {
    if (busiest_) {
      figures.busiest_core_percent = busiest_->busy_percent;
      figures.softirq_percent = busiest_->softirq_percent;
    }
  }

 private:
  struct Core {
    Counter* busy = nullptr;
    Counter* softirq = nullptr;
  };
  struct Window {
    std::int64_t t_ns = 0;
    host::CoreTimes times = {};
  };

  Core& core_of(int number, Sink& sink) {
    Core& core = cores_[number];
    if (core.busy == nullptr) {
      const std::string subject = "cpu" + std::to_string(number);
      core.busy = &sink.counter(series(record::kCpuBusy, subject));
      core.softirq = &sink.counter(series(record::kCpuSoftirq, subject));
    }
    return core;
  }

  void write_cores(std::int64_t now_ns, const host::CoreTimes& times, Sink& sink) {
    const std::vector<bool> by_busy = busiest_by(&host::CoreTime::busy, before_, times);
    const std::vector<bool> by_softirq = busiest_by(&host::CoreTime::softirq, before_, times);
    std::size_t i = 0;
    for (const auto& [number, time] : times) {
      Core& core = core_of(number, sink);
      core.busy->see(now_ns, ns_of(time.busy), by_busy[i]);
      core.softirq->see(now_ns, ns_of(time.softirq), by_softirq[i]);
      ++i;
    }
  }

  void write_sum(std::int64_t now_ns, const host::CoreTimes& times, Sink& sink) const {
    host::CoreTime sum;
    for (const auto& [number, time] : times) {
      sum.busy += time.busy;
      sum.softirq += time.softirq;
    }
    sink.counter(series(record::kCpuBusy, "all"), FirstRow::Always).see(now_ns, ns_of(sum.busy));
    sink.counter(series(record::kCpuSoftirq, "all"), FirstRow::Always)
        .see(now_ns, ns_of(sum.softirq));
  }

  // Ticks of 10 ms are too coarse for shares of 100 ms: the figures are means of about a second.
  void update_busiest(std::int64_t now_ns, const host::CoreTimes& times) {
    constexpr std::int64_t kWindowNs = 1'000'000'000;
    if (window_.times.empty() || now_ns - window_.t_ns >= kWindowNs) {
      if (!window_.times.empty()) {
        busiest_ = host::busiest(window_.times, times);
      }
      window_ = {now_ns, times};
    }
  }

  KernelFile stat_;
  std::string buffer_;
  std::map<int, Core> cores_;
  host::CoreTimes before_;
  Window window_;
  std::optional<host::BusiestCores> busiest_;
};

// "some avg10=6.99 avg60=3.67 avg300=1.17 total=2541208851"
std::optional<std::uint64_t> total_us_in(std::string_view line) {
  constexpr std::string_view kTotal = "total=";
  const std::size_t at = line.find(kTotal);
  return at == std::string_view::npos ? std::nullopt
                                      : number_in(Words(line.substr(at + kTotal.size())).next());
}

// From /proc/pressure: how long some threads, or all of them (full), waited for a core, memory or
// disks. "some" of cpu grows when there are more ready threads than cores.
class PressureSampler final : public Sampler {
 public:
  explicit PressureSampler(const sys::Root& root)
      : files_{KernelFile(root, "/proc/pressure/cpu"), KernelFile(root, "/proc/pressure/memory"),
               KernelFile(root, "/proc/pressure/io")} {}

  void sample(const Moment& moment, Sink& sink) override {
    for (KernelFile& file : files_) {
      const std::string resource = file.path().substr(file.path().rfind('/') + 1);
      const Result<std::string_view> text = file.read(buffer_);
      if (!text) {
        sink.remark("pressure: " + describe(text.error()));
        continue;
      }
      Words lines = lines_of(*text);
      for (std::string_view line = lines.next(); !line.empty(); line = lines.next()) {
        const bool is_full = line.starts_with("full");
        if (const std::optional<std::uint64_t> total_us = total_us_in(line)) {
          sink.counter({std::string(is_full ? record::kPressureFull : record::kPressureSome),
                        resource, file.path()},
                       is_full ? FirstRow::OnceChanged : FirstRow::Always)
              .see(moment.now_ns, *total_us * 1000);
        }
      }
    }
  }

 private:
  std::array<KernelFile, 3> files_;
  std::string buffer_;
};

}  // namespace

OwnedSampler cpu_sampler(const sys::Root& root) { return std::make_unique<CpuSampler>(root); }

OwnedSampler pressure_sampler(const sys::Root& root) {
  return std::make_unique<PressureSampler>(root);
}

}  // namespace chokepoint::capture::counter
