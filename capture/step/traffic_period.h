// Steps from the job's traffic, where nothing else tells of them: bytes in bins of a millisecond,
// candidates for a period by Fourier transform, held against the autocorrelation (so that neither a
// harmonic nor the bursts inside a step are taken for it), refined over all periods seen. Periods
// from 20 ms to 30 s. Memory is bounded: bins are folded as they age. One thread.
//
//   add ─▶ bins ─▶ search: the period ─▶ track: where each burst begins ─▶ steps
//
// A step is from one burst's begin to the next one's. Where the traffic pauses there is no step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "capture/step/step.h"

namespace chokepoint::capture::step {

struct Period {
  double period_ns = 0;
  std::int64_t begins_ns = 0;  // of a recent step: where its burst begins
  double strength = 0;         // of the autocorrelation: 0 to 1
};

class TrafficPeriod {
 public:
  TrafficPeriod();
  ~TrafficPeriod();

  // Bytes of the job that passed at that time. Times may be out of order by some milliseconds.
  void add(std::int64_t t_ns, std::uint64_t bytes);
  // Looks again; nothing where the traffic has no period. Under a millisecond of work: once a
  // second is often enough, and once in 4 s is needed to miss no step of 20 ms.
  std::optional<Period> estimate(std::int64_t now_ns);
  // Steps that are over and were not yet reported. They are held back until the period is sure to
  // be no part of a longer one: for 240 of it, a minute at most. At the job's end, `now_ns` is the
  // end of time.
  void report(std::int64_t now_ns, const OnStep& on_step);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace chokepoint::capture::step
