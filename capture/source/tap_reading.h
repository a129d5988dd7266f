// Reads one tap to its end, a batch at a time: waits for the ring, looks at the drop counters ten
// times a second, and after stop or an interface that went away still hands out what is in the
// ring. One thread.
//
//   listening ──stop()──▶ draining ──a packet later than that, or two block timeouts──▶ End
//       └────interface gone────┘ ····························································▶
//       error
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/sys/error.h"
#include "capture/source/source.h"
#include "capture/source/stop_flag.h"
#include "capture/source/tap.h"

namespace chokepoint::capture::source {

class TapReading {
 public:
  TapReading(Tap tap, std::uint32_t interface, const StopFlag& stop,
             std::chrono::milliseconds patience)
      : tap_(std::move(tap)), interface_(interface), stop_(stop), patience_(patience) {}

  // Waits no longer than `patience` for something to come.
  Result<Progress> read(Batch& batch);

  const Tap& tap() const { return tap_; }

  // Packets that are still to come are later than this.
  std::int64_t complete_until() const { return complete_until_; }

 private:
  using Instant = std::chrono::steady_clock::time_point;

  void wait(Instant until) const;
  void collect(Batch& batch, Instant now);
  void look_at_drops(Batch& batch);
  bool is_drained(const Batch& batch, Instant now) const;
  bool leave_out_what_came_after_the_stop(Batch& batch) const;
  Result<Progress> end(const Batch& batch) const;

  Tap tap_;
  std::uint32_t interface_;
  const StopFlag& stop_;
  std::chrono::milliseconds patience_;
  Instant next_look_ = {};
  std::int64_t complete_until_ = 0;
  std::optional<Instant> drained_at_;
  std::int64_t stopped_ns_ = INT64_MAX;
  std::optional<Error> error_;
};

}  // namespace chokepoint::capture::source
