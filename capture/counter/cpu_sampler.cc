#include "capture/counter/cpu_sampler.h"

#include <unistd.h>

#include <string>

#include "base/record/names.h"
#include "capture/counter/busiest.h"

namespace chokepoint::capture::counter {
namespace {

constexpr const char* kProcStatSource = "/proc/stat";
constexpr std::size_t kMostCores = 8;  // that get a row at a time, by each of the two measures

// The kernel counts in ticks that programs see as hundredths of a second.
std::uint64_t ns_of(std::int64_t ticks) {
  static const auto tick_ns = 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  return static_cast<std::uint64_t>(ticks) * tick_ns;
}

SeriesName series(std::string_view name, std::string subject) {
  return {std::string(name), std::move(subject), "ns", kProcStatSource};
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
  return busiest_of(growths, kMostCores);
}

}  // namespace

CpuSampler::Core& CpuSampler::core_of(int number, Sink& sink) {
  Core& core = cores_[number];
  if (core.busy == nullptr) {
    const std::string subject = "cpu" + std::to_string(number);
    core.busy = &sink.counter(series(record::kCpuBusy, subject));
    core.softirq = &sink.counter(series(record::kCpuSoftirq, subject));
  }
  return core;
}

void CpuSampler::write_cores(std::int64_t now_ns, const host::CoreTimes& times, Sink& sink) {
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

void CpuSampler::write_sum(std::int64_t now_ns, const host::CoreTimes& times, Sink& sink) const {
  host::CoreTime sum;
  for (const auto& [number, time] : times) {
    sum.busy += time.busy;
    sum.softirq += time.softirq;
  }
  sink.counter(series(record::kCpuBusy, "all"), Keep::Always).see(now_ns, ns_of(sum.busy));
  sink.counter(series(record::kCpuSoftirq, "all"), Keep::Always).see(now_ns, ns_of(sum.softirq));
}

// Ticks are too coarse to tell shares of 100 ms: what is shown is of about a second.
void CpuSampler::look_back(std::int64_t now_ns, const host::CoreTimes& times) {
  constexpr std::int64_t kWindowNs = 1'000'000'000;
  if (window_.times.empty() || now_ns - window_.t_ns >= kWindowNs) {
    if (!window_.times.empty()) {
      busiest_ = host::busiest(window_.times, times);
    }
    window_ = {now_ns, times};
  }
}

void CpuSampler::sample(const Moment& moment, Sink& sink) {
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
  look_back(moment.now_ns, times);
  before_ = std::move(times);
}

void CpuSampler::tell(Figures& figures) const {
  if (busiest_) {
    figures.busiest_core_percent = busiest_->busy_percent;
    figures.softirq_percent = busiest_->softirq_percent;
  }
}

}  // namespace chokepoint::capture::counter
