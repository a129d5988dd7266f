// When one GPU was limited below its clocks, for which reason, and for how long: two events of the
// record for each period. A reason that is absent for less than some seconds has not ended,
// because at a power cap it comes and goes. The samplers' thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "capture/counter/series.h"

namespace chokepoint::capture::counter {

class ThrottleLog {
 public:
  explicit ThrottleLog(std::string gpu) : gpu_(std::move(gpu)) {}

  // NVML's bits at that moment; each holds since the last call.
  void see(std::int64_t t_ns, std::uint64_t bits, Sink& sink);

 private:
  struct Period {
    std::int64_t last_ns = 0;  // seen
    std::int64_t held_ns = 0;
  };

  void hold(std::int64_t t_ns, std::string_view reason, Sink& sink);
  void end_old(std::int64_t t_ns, Sink& sink);

  std::string gpu_;
  std::int64_t before_ns_ = 0;
  std::map<std::string_view, Period> periods_;
};

}  // namespace chokepoint::capture::counter
