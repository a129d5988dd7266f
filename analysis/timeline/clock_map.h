// From the times of one clock to those of another, whose rates differ a little and may change: a
// broken line through knots. Beyond the first and last knot the pieces at the ends go on. A value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chokepoint::analysis {

class ClockMap {
 public:
  struct Knot {
    std::int64_t t_ns = 0;
    std::int64_t shift_ns = 0;  // what is added at t_ns
  };

  ClockMap() = default;  // a clock to itself
  // In the order of t_ns, each moment once. A single knot is the same shift for ever.
  explicit ClockMap(std::vector<Knot> knots) : knots_(std::move(knots)) {}

  std::int64_t operator()(std::int64_t t_ns) const { return t_ns + shift_ns(t_ns); }
  std::int64_t shift_ns(std::int64_t t_ns) const;
  ClockMap inverse() const;
  // From this map's first clock to the other's second.
  ClockMap then(const ClockMap& other) const;
  double drift_ppm()
      const;  // from the first knot to the last: how much faster the other clock runs

  std::span<const Knot> knots() const { return knots_; }

 private:
  std::vector<Knot> knots_;
};

}  // namespace chokepoint::analysis
