#include "capture/counter/watcher.h"

#include <algorithm>
#include <mutex>

#include "base/host/nvml.h"
#include "capture/counter/gpu_sampler.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {
namespace {

// The share of a core that one sampler may use, whatever the size of the host. With them the whole
// watch takes what docs/internals/run-cost.md measured.
constexpr double kShareOfSlow = 0.0003;
constexpr double kShareOfFast = 0.0007;
constexpr double kShareOfThreads = 0.0015;
constexpr double kShareOfInput = 0.0015;
constexpr std::int64_t kInputIntervalNs = 50'000'000;  // a wait of a step's length is seen

// Threads are read more often than slow sources, because their bursts are shorter than a second.
constexpr int kThreadReadingsPerSlowOne = 5;

struct Scheduled {
  std::unique_ptr<Sampler> sampler;
  Pace pace;
};

// Null for a copy of another host, whose GPUs are not here.
std::unique_ptr<Sampler> gpu_sampler(const Options& options, const sys::Root& root,
                                     const sys::Clock& clock) {
  if (!root.is_live() && !options.gpu_library) {
    return nullptr;
  }
  const std::string library = options.gpu_library.value_or(host::nvml::kLibrary);
  return counter::gpu_sampler(
      std::make_unique<GpuWatch>([library] { return GpuSession::open(library); },
                                 std::chrono::nanoseconds(options.slow_interval_ns), clock));
}

std::vector<Scheduled> samplers_of(const Options& options, const sys::Root& root,
                                   const sys::Clock& clock) {
  const Pace fast(options.interval_ns, kShareOfFast);
  const Pace slow(options.slow_interval_ns, kShareOfSlow);
  const Pace threads(
      std::max(options.slow_interval_ns / kThreadReadingsPerSlowOne, options.interval_ns),
      kShareOfThreads);
  const Pace input(std::min(kInputIntervalNs, options.interval_ns), kShareOfInput);
  std::vector<Scheduled> all;
#define SAMPLER(function, pace) all.push_back({function(root), pace});
#include "capture/counter/samplers.def"
#undef SAMPLER
  all.push_back({link_sampler(root, options.slow_interval_ns), fast});
  if (std::unique_ptr<Sampler> gpus = gpu_sampler(options, root, clock)) {
    all.push_back({std::move(gpus), slow});
  }
  return all;
}

class HostWatcher final : public Watcher {
 public:
  HostWatcher(const Options& options, const sys::Root& root, const sys::Clock& clock,
              record::Writer& writer)
      : clock_(clock),
        spent_ns_(options.spent_ns ? options.spent_ns : sys::thread_cpu_ns),
        sink_(writer),
        samplers_(samplers_of(options, root, clock)),
        metrics_interval_ns_(options.slow_interval_ns) {}

  std::int64_t tick(const job::JobProcesses& processes) override {
    const std::int64_t now_ns = clock_.monotonic_ns();
    bool has_read = false;
    for (Scheduled& scheduled : samplers_) {
      if (scheduled.pace.is_due(now_ns)) {
        const std::int64_t before_ns = spent_ns_();
        scheduled.sampler->sample({clock_.monotonic_ns(), processes}, sink_);
        scheduled.pace.done(now_ns, spent_ns_() - before_ns);
        has_read = true;
      }
    }
    if (has_read) {
      if (now_ns >= metrics_due_ns_) {
        metrics_due_ns_ = now_ns + metrics_interval_ns_;
        read_metrics();
      }
      publish();
    }
    return std::ranges::min_element(samplers_, {}, due_of)->pace.due_ns();
  }

  void finish(const job::JobProcesses& processes) override {
    for (Scheduled& scheduled : samplers_) {
      scheduled.sampler->sample({clock_.monotonic_ns(), processes}, sink_);
    }
    sink_.flush();
    read_metrics();
    publish();
  }

  Figures figures() const override {
    const std::scoped_lock lock(mutex_);
    return figures_;
  }

 private:
  static std::int64_t due_of(const Scheduled& scheduled) { return scheduled.pace.due_ns(); }

  void read_metrics() {
    metrics_ = std::make_shared<const std::vector<SeriesValue>>(sink_.metrics());
  }

  void publish() {
    Figures figures{.remarks = sink_.remarks(), .series = metrics_};
    for (const Scheduled& scheduled : samplers_) {
      scheduled.sampler->report(figures);
    }
    const std::scoped_lock lock(mutex_);
    figures_ = std::move(figures);
  }

  const sys::Clock& clock_;
  std::function<std::int64_t()> spent_ns_;
  Sink sink_;
  std::vector<Scheduled> samplers_;
  std::int64_t metrics_interval_ns_;
  std::int64_t metrics_due_ns_ = 0;
  std::shared_ptr<const std::vector<SeriesValue>> metrics_ = Figures{}.series;
  mutable std::mutex mutex_;  // figures_
  Figures figures_;
};

}  // namespace

std::unique_ptr<Watcher> Watcher::make(const Options& options, const sys::Root& root,
                                       const sys::Clock& clock, record::Writer& writer) {
  return std::make_unique<HostWatcher>(options, root, clock, writer);
}

}  // namespace chokepoint::capture::counter
