#include "tests/capture/step/synthetic_traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace chokepoint::capture::step {
namespace {

constexpr double kStepBytes = 1e7;

// By hand: the library's distributions differ from one standard library to the next. Above 0.
double share(std::mt19937& random) { return (static_cast<double>(random()) + 1) / 4294967297.0; }

double normal(std::mt19937& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += share(random);
  return sum;
}

}  // namespace

void SyntheticTraffic::burst(double begin_ms, double length_ms, double bytes,
                             const OnBytes& on_bytes) const {
  const int pieces = std::max(1, static_cast<int>(std::ceil(length_ms / 0.5)));
  for (int i = 0; i < pieces; ++i) {
    const double t_ms = begin_ms + length_ms * i / pieces;
    on_bytes(static_cast<std::int64_t>(t_ms * 1e6), static_cast<std::uint64_t>(bytes / pieces));
  }
}

void SyntheticTraffic::play(const Pattern& pattern, int steps, const OnBytes& on_bytes) {
  for (int step = 0; step < steps; ++step) {
    const double factor = std::max(0.3, 1 + pattern.jitter * normal(random_));
    const double length_ms = pattern.step_ms * factor;
    const double busy_ms = pattern.step_ms * pattern.busy;
    const double first_ms = now_ms_ + length_ms - busy_ms;
    const double slot_ms = busy_ms / pattern.bursts;
    if (pattern.noise > 0) {
      const int pieces = std::max(1, static_cast<int>(length_ms / 5));
      for (int i = 0; i < pieces; ++i) {
        const double at_ms = now_ms_ + length_ms * share(random_);
        burst(at_ms, 0.4, 2 * kStepBytes * pattern.noise / pieces * share(random_), on_bytes);
      }
    }
    for (int i = 0; i < pattern.bursts; ++i) {
      burst(first_ms + slot_ms * i, slot_ms * pattern.fill, kStepBytes / pattern.bursts, on_bytes);
    }
    begins_ns.push_back(static_cast<std::int64_t>(first_ms * 1e6));
    step_ms.push_back(length_ms);
    now_ms_ += length_ms;
    if (pattern.epoch_steps > 0 && (step + 1) % pattern.epoch_steps == 0) {
      now_ms_ += pattern.pause * pattern.step_ms;
    }
  }
}

void SyntheticTraffic::play_random(double mean_ms, double seconds, const OnBytes& on_bytes) {
  const double end_ms = now_ms_ + seconds * 1e3;
  while (now_ms_ < end_ms) {
    burst(now_ms_, mean_ms / 10, kStepBytes * share(random_), on_bytes);
    now_ms_ -= mean_ms * std::log(share(random_));
  }
}

double SyntheticTraffic::mean_ms(std::size_t last) const {
  const std::size_t count = std::min(last, step_ms.size());
  return std::accumulate(step_ms.end() - static_cast<std::ptrdiff_t>(count), step_ms.end(), 0.0) /
         static_cast<double>(count);
}

}  // namespace chokepoint::capture::step
