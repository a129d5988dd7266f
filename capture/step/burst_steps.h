// Which of the stretches from burst to burst are steps. Training moves the same bytes in each step,
// so the bytes count the steps where the borders were not clear: half of a step's bytes are half a
// step, and are joined with the next; twice as many are two steps. Where bytes differ from step to
// step, the lengths decide.
//
// Bursts inside a longer step are no steps. They are recognised by what recurs every few of them:
// the pause between steps, a slower backward pass, a larger bucket. Then nothing is reported.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>

namespace chokepoint::capture::step {

// Length of a step, in periods.
inline constexpr double kMinStepPeriods = 0.55;
inline constexpr double kMaxStepPeriods = 1.6;

struct Stretch {
  std::int64_t start_ns = 0;  // where a burst begins
  std::int64_t end_ns = 0;    // where the next one does
  double bytes = 0;
};

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
