// Steps from the job's traffic, used where no better source reports them:
//
//   add ─▶ bins ─▶ PeriodSearch: the period ─▶ where each burst begins ─▶ BurstSteps: steps
//
// Candidates for a period come from the autocorrelation (by Fourier transform) of bytes in bins;
// the choice among them avoids harmonics and bursts inside a step; the chosen period is refined
// over all periods seen. Periods from 20 ms to 30 s. A step lasts from the begin of one burst to
// the begin of the next. Where the traffic pauses there is no step. Bounded memory: old bins are
// kept coarser. One thread.
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
  // Searches again; nullopt if the traffic has no period. Under a millisecond of work: once a
  // second is often enough, and once in 4 s is needed to miss no step of 20 ms.
  std::optional<Period> estimate(std::int64_t now_ns);
  // Steps that are over and were not yet reported. They are held back until it is certain that the
  // period is no part of a longer one: for 240 periods, a minute at most. At the job's end `now_ns`
  // is the largest time.
  void report(std::int64_t now_ns, const OnStep& on_step);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace chokepoint::capture::step
