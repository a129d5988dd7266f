// What becomes of a frame on one direction of the wire, and when. Time is handed in with each
// frame, so the model is arithmetic alone:
//
//   frame ──▶ queue ──▶ line at `rate` ──▶ loss ──▶ `delay`, `jitter` ──▶ out
//               │ full                      │ drawn
//               ▼                           ▼
//         dropped_queue                dropped_loss (it has used the line)
//
// The queue holds no frames: how much waits follows from when the line will be free. A policer
// stands in its place where there is a bucket: what finds it empty is dropped_queue. Frames never
// overtake one another, also where the delay is lowered. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "tests/lab/wire/settings.h"

namespace chokepoint::lab {

struct Counters {
  std::uint64_t packets = 0;  // segments on the wire that came out
  std::uint64_t bytes = 0;
  std::uint64_t dropped_queue = 0;
  std::uint64_t dropped_loss = 0;
  std::uint64_t dropped_cut = 0;
};

// A frame as it is on the wire: a super-frame counts for all its segments.
struct WireSize {
  std::uint64_t bytes = 0;
  std::uint64_t packets = 1;
};

class Shaper {
 public:
  Shaper(const DirectionSettings& settings, std::uint64_t seed)
      : settings_(settings), random_(seed) {}

  // When the frame comes out; nothing where it is dropped.
  std::optional<std::int64_t> offer(std::int64_t now_ns, WireSize size);

  void change(const DirectionSettings& settings) { settings_ = settings; }
  const DirectionSettings& settings() const { return settings_; }
  // A wire that is cut swallows what is offered.
  void cut(bool is_cut) { cut_ = is_cut; }
  bool is_cut() const { return cut_; }
  const Counters& counters() const { return counters_; }
  // A frame that was accepted and did not find its way out after all.
  void lost_behind(WireSize size);

 private:
  bool fits(std::int64_t now_ns, std::uint64_t bytes) const;
  bool passes_policer(std::int64_t now_ns, std::uint64_t bytes);
  void use_line(std::int64_t now_ns, std::uint64_t bytes);
  bool draws_loss();
  std::int64_t jitter_ns();

  DirectionSettings settings_;
  std::mt19937_64 random_;
  std::uniform_real_distribution<double> uniform_{0, 1};
  std::int64_t line_free_ns_ = 0;
  double bucket_bytes_ = 0;
  std::optional<std::int64_t> bucket_filled_ns_;  // at first it is full
  bool in_loss_run_ = false;
  std::int64_t last_due_ns_ = 0;
  bool cut_ = false;
  Counters counters_;
};

}  // namespace chokepoint::lab
