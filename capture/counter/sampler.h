// One source of counters on this host. Asked again and again, each time it reads what there is and
// hands it to the sink; what comes and goes meanwhile is its own affair, and nothing it finds or
// misses is an error. One thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "capture/counter/sink.h"
#include "capture/counter/watcher.h"
#include "capture/job/process.h"

namespace chokepoint::capture::counter {

inline constexpr std::string_view kInterfacesFolder = "/sys/class/net";
// How often devices are looked for that came or went.
inline constexpr std::int64_t kFindAgainNs = 10'000'000'000;

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
  virtual void tell(Figures& /*figures*/) const {}
};

}  // namespace chokepoint::capture::counter
