#include "analysis/timeline/clock_map.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::analysis {
namespace {

using Knot = ClockMap::Knot;

double rate(const Knot& from, const Knot& to) {
  return static_cast<double>(to.shift_ns - from.shift_ns) /
         static_cast<double>(to.t_ns - from.t_ns);
}

}  // namespace

std::int64_t ClockMap::shift_ns(std::int64_t t_ns) const {
  if (knots_.size() < 2) return knots_.empty() ? 0 : knots_.front().shift_ns;
  const auto after =
      std::upper_bound(knots_.begin() + 1, knots_.end() - 1, t_ns,
                       [](std::int64_t t, const Knot& knot) { return t < knot.t_ns; });
  const Knot& from = *(after - 1);
  return from.shift_ns + std::llround(static_cast<double>(t_ns - from.t_ns) * rate(from, *after));
}

ClockMap ClockMap::inverse() const {
  std::vector<Knot> turned;
  turned.reserve(knots_.size());
  for (const Knot& knot : knots_) turned.push_back({knot.t_ns + knot.shift_ns, -knot.shift_ns});
  return ClockMap(std::move(turned));
}

ClockMap ClockMap::then(const ClockMap& other) const {
  std::vector<std::int64_t> moments;
  for (const Knot& knot : knots_) moments.push_back(knot.t_ns);
  const ClockMap back = inverse();
  for (const Knot& knot : other.knots_) moments.push_back(back(knot.t_ns));
  std::ranges::sort(moments);
  moments.erase(std::ranges::unique(moments).begin(), moments.end());
  std::vector<Knot> knots;
  knots.reserve(moments.size());
  for (const std::int64_t t_ns : moments) knots.push_back({t_ns, other((*this)(t_ns)) - t_ns});
  return ClockMap(std::move(knots));
}

double ClockMap::drift_ppm() const {
  return knots_.size() < 2 ? 0 : rate(knots_.front(), knots_.back()) * 1e6;
}

}  // namespace chokepoint::analysis
