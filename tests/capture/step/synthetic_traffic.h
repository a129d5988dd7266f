// The traffic of a made-up job: bursts at the end of each step's computing, as training has them,
// in pieces of a millisecond at most. The same seed gives the same traffic.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <vector>

namespace chokepoint::capture::step {

struct Pattern {
  double step_ms = 100;
  double jitter = 0;    // deviation of a step's length, as a share of it
  int bursts = 1;       // inside a step, evenly
  double busy = 0.3;    // share of the step from the first burst's begin to the last one's end
  double fill = 1;      // share of that time in which bytes pass, where there are several bursts
  double noise = 0;     // bytes of others, as a share of the job's
  int epoch_steps = 0;  // so many, then a pause of `pause` steps
  double pause = 0;
};

using OnBytes = std::function<void(std::int64_t t_ns, std::uint64_t bytes)>;

class SyntheticTraffic {
 public:
  explicit SyntheticTraffic(std::uint32_t seed, std::int64_t begin_ns = 5'000'000'000)
      : random_(seed), now_ms_(static_cast<double>(begin_ns) / 1e6) {}

  // So many steps; the lengths are kept in step_ms.
  void play(const Pattern& pattern, int steps, const OnBytes& on_bytes);
  // Bursts at any time, without a period: exponential gaps of `mean_ms`.
  void play_random(double mean_ms, double seconds, const OnBytes& on_bytes);

  double mean_ms(std::size_t last) const;  // of the newest steps
  std::int64_t now_ns() const { return static_cast<std::int64_t>(now_ms_ * 1e6); }
  std::vector<double> step_ms;
  std::vector<std::int64_t> begins_ns;  // of each step's first burst

 private:
  void burst(double begin_ms, double length_ms, double bytes, const OnBytes& on_bytes) const;

  std::mt19937 random_;
  double now_ms_;
};

}  // namespace chokepoint::capture::step
