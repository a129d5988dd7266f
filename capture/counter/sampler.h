// A sampler reads one source of counters on this host again and again and hands what it finds to
// the sink. Devices, threads and interfaces may come and go between two readings: a file that is
// missing or cannot be read is at most a remark, never an error. The watcher owns all samplers and
// decides when each is due; all of it runs on the watcher's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/sys/root.h"
#include "capture/counter/series.h"
#include "capture/counter/watcher.h"
#include "capture/job/process.h"

namespace chokepoint::capture::counter {

inline constexpr std::string_view kInterfacesFolder = "/sys/class/net";
// How often the list of devices is read again: a judgement.
inline constexpr std::int64_t kFindAgainNs = 10'000'000'000;

// From here on a card is at work, so that its PCIe link runs as fast as it ever does.
inline constexpr double kBusyBytesPerS = 10e6;
inline constexpr double kBusyPercent = 10;

struct Moment {
  std::int64_t now_ns = 0;
  const job::JobProcesses& processes;
};

class Sampler {
 public:
  Sampler() = default;
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;
  virtual ~Sampler() = default;

  virtual void sample(const Moment& moment, Sink& sink) = 0;
  // What the live line shows of it.
  virtual void report(Figures& /*figures*/) const {}
};

using OwnedSampler = std::unique_ptr<Sampler>;

#define SAMPLER(function, pace) OwnedSampler function(const sys::Root& root);
#include "capture/counter/samplers.def"
#undef SAMPLER
OwnedSampler link_sampler(const sys::Root& root, std::int64_t slow_interval_ns);

// The name under which threads are summed up: "pt_autograd_3" and "pt_autograd_7" are both
// "pt_autograd_*"; "python3" stays as it is.
std::string kind_of_thread(std::string_view comm);

// When a sampler is due: at its interval, and less often where it costs more than its share of a
// core, so that watching costs the same on a host of 256 cores or 3,000 threads. A tick that comes
// late is not caught up on. All samplers' intervals lie on one grid, so that few ticks serve many.
class Pace {
 public:
  Pace(std::int64_t interval_ns, double share) : interval_ns_(interval_ns), share_(share) {}

  std::int64_t due_ns() const { return due_ns_; }
  bool is_due(std::int64_t now_ns) const { return now_ns >= due_ns_; }

  void done(std::int64_t now_ns, std::int64_t cost_ns) {
    constexpr double kNewest = 0.25;  // the weight of the newest cost in the moving mean
    cost_ns_ += (static_cast<double>(cost_ns) - cost_ns_) * kNewest;
    const auto wanted = static_cast<std::int64_t>(cost_ns_ / share_);
    const std::int64_t intervals =
        std::max<std::int64_t>(1, (wanted + interval_ns_ - 1) / interval_ns_);
    due_ns_ = (now_ns / interval_ns_ + intervals) * interval_ns_;
  }

 private:
  std::int64_t interval_ns_;
  double share_;  // of a core
  double cost_ns_ = 0;
  std::int64_t due_ns_ = 0;
};

}  // namespace chokepoint::capture::counter
