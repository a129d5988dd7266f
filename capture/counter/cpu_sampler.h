// What each core did, from /proc/stat: time busy, and the part of it in softirq, where packets are
// received. A sum over all cores each time; of the cores those that did most of late.
#pragma once

#include <cstdint>
#include <map>

#include "base/host/cpu.h"
#include "base/sys/root.h"
#include "capture/counter/kept_file.h"
#include "capture/counter/sampler.h"

namespace chokepoint::capture::counter {

class CpuSampler final : public Sampler {
 public:
  explicit CpuSampler(const sys::Root& root) : stat_(root, "/proc/stat") {}

  void sample(const Moment& moment, Sink& sink) override;
  void tell(Figures& figures) const override;

 private:
  struct Core {
    Counter* busy = nullptr;
    Counter* softirq = nullptr;
  };
  struct Window {
    std::int64_t t_ns = 0;
    host::CoreTimes times = {};
  };

  Core& core_of(int number, Sink& sink);
  void write_cores(std::int64_t now_ns, const host::CoreTimes& times, Sink& sink);
  void write_sum(std::int64_t now_ns, const host::CoreTimes& times, Sink& sink) const;
  void look_back(std::int64_t now_ns, const host::CoreTimes& times);

  KeptFile stat_;
  std::string buffer_;
  std::map<int, Core> cores_;
  host::CoreTimes before_;
  Window window_;
  std::optional<host::BusiestCores> busiest_;
};

}  // namespace chokepoint::capture::counter
