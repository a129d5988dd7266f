// Steps from the job's traffic, used where no better source reports them. TrafficPeriod is the
// interface; the rest of this header is what its two sources and their tests share.
//
//   add ─▶ bins ─▶ PeriodSearch: the period ─▶ where each burst begins ─▶ BurstSteps: steps
//
// Candidates for a period come from the autocorrelation (by Fourier transform) of bytes in bins;
// the choice among them avoids harmonics and bursts inside a step; the chosen period is refined
// over all periods seen. Periods from 20 ms to 30 s. A step lasts from the begin of one burst to
// the begin of the next. Where the traffic pauses there is no step. Bounded memory: old bins are
// kept coarser. Everything here runs on one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

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

// Bytes over time, in rings of bins: a millisecond each at level 0, twice as long at each further
// level, a second at the last. So the newest 4 s are known to the millisecond and the newest hour
// to the second, in fixed memory.
class BinnedTraffic {
 public:
  static constexpr std::size_t kLevels = 11;
  static constexpr std::int64_t kBins = 4'096;

  static constexpr std::int64_t bin_ns(std::size_t level) {
    return std::int64_t{1'000'000} << level;
  }

  // A time may be earlier than the one before, as long as its bin is still held. None is below 0.
  void add(std::int64_t t_ns, std::uint64_t bytes) {
    if (t_ns / bin_ns(0) != pending_bin_) {
      flush();
      pending_bin_ = t_ns / bin_ns(0);
    }
    pending_ += static_cast<double>(bytes);
  }
  void flush();

  struct Span {
    std::int64_t begin_ns = 0;  // of the first bin
    std::vector<float> bins = {};
  };
  // The newest complete bins, at most `bins`.
  Span newest(std::size_t level, std::int64_t bins) const;
  std::int64_t newest_ns() const { return newest_ns_; }
  // By the finest bins that still hold this time.
  double bytes_between(std::int64_t begin_ns, std::int64_t end_ns) const;

 private:
  struct Ring {
    std::int64_t end = 0;  // number of the newest bin, plus one
    std::vector<float> bins = std::vector<float>(kBins);
  };

  void add(std::size_t level, std::int64_t t_ns, float bytes);

  std::array<Ring, kLevels> rings_;
  std::int64_t pending_bin_ = -1;
  double pending_ = 0;
  std::int64_t oldest_ns_ = -1;
  std::int64_t newest_ns_ = -1;
};

// The mean of `width` bins around each bin; at both ends, of those that exist.
std::vector<float> box_mean(std::span<const float> series, std::size_t width);
// No bin above some times the mean of the bins with traffic: one burst must not outweigh all
// others.
std::vector<float> clipped(std::span<const float> series);

struct Candidate {
  double period_ns = 0;
  double strength = 0;    // of the autocorrelation
  double modulation = 0;  // how much the traffic varies at this scale; 0 is not at all
};

class Autocorrelation;

// Which period a job's traffic has. Each level of bins is searched for the periods that are 24 to
// 52 of its bins long, so that all have the same resolution, over the newest 10 to 21 of them:
//
//   bins ─ smoothed over a tenth of a period ─▶ autocorrelation ─▶ peaks that stand out
//
// A peak stands out if no lag from half to one and a half times its own comes near its height (so
// it is no multiple and no fraction of another) and the double lag is high, too. Of several, such
// as micro-batches inside a step, the longest is the step, unless it hardly modulates the traffic,
// as epochs do.
class PeriodSearch {
 public:
  PeriodSearch();
  ~PeriodSearch();

  // The shortest first; no two are within a tenth of each other.
  std::vector<Candidate> candidates(const BinnedTraffic& traffic);
  static std::optional<Candidate> step_of(const std::vector<Candidate>& candidates);

 private:
  void search(const BinnedTraffic& traffic, std::size_t level, std::vector<Candidate>& found);

  std::unique_ptr<Autocorrelation> autocorrelation_;
};

struct Stretch {
  std::int64_t start_ns = 0;  // where a burst begins
  std::int64_t end_ns = 0;    // where the next one does
  double bytes = 0;
};

// Which of the stretches from burst to burst are steps. Training moves the same bytes in each step,
// so the bytes count the steps where the borders were not clear: half of a step's bytes are half a
// step, and are joined with the next; twice as many are two steps. Where bytes differ from step to
// step, the lengths decide.
//
// Bursts inside a longer step are no steps. They are recognised by what recurs every few of them:
// the pause between steps, a slower backward pass, a larger bucket. Then nothing is reported.
class BurstSteps {
 public:
  using OnSteps =
      std::function<void(std::int64_t start_ns, std::int64_t end_ns, std::int64_t steps)>;

  // In order of time.
  void add(const Stretch& stretch);
  void clear();
  // Those since the last report that are certain, unless all of them are bursts inside a step.
  void report(double period_ns, const OnSteps& on_steps);

 private:
  struct Group {
    std::size_t stretches = 0;
    std::int64_t steps = 0;  // 0: none, a pause or something else
    double carried = 0;      // of a step's bytes, to the next group
  };

  bool are_steps(double period_ns) const;
  std::optional<double> usual_bytes() const;
  std::optional<Group> next_by_bytes(double period_ns, double usual) const;
  Group next_by_length(double period_ns) const;
  void forget();

  std::deque<Stretch> stretches_;
  std::size_t reported_ = 0;  // of stretches_
  double carried_ = 0;
};

// Whether a series of lengths or sizes goes through the same changes every few values. Real steps
// vary by chance, or one of many is longer than the rest.
bool is_periodic(std::span<const double> values);

}  // namespace chokepoint::capture::step
