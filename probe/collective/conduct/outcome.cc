#include "probe/collective/conduct/outcome.h"

#include <algorithm>

namespace chokepoint::probe::collective {
namespace {

constexpr double kBitsPerByte = 8;  // a bit a microsecond is a megabit a second

}  // namespace

std::optional<double> algbw_mbps(const SizeResult& size) {
  const std::optional<double> time_us = math::mean(size.times_us);
  if (!time_us || *time_us <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(size.operation.bytes) * kBitsPerByte / *time_us;
}

std::optional<double> busbw_mbps(const SizeResult& size) {
  const std::optional<double> algorithm = algbw_mbps(size);
  if (!algorithm) {
    return std::nullopt;
  }
  return *algorithm * bus_factor(size.operation.collective, size.operation.ranks);
}

Fit fit_of(const Outcome& outcome) {
  std::vector<Timed> timed;
  for (const SizeResult& size : outcome.sizes) {
    if (const std::optional<double> median = math::median(size.times_us)) {
      timed.push_back({.bytes = static_cast<double>(size.operation.bytes), .time_us = *median});
    }
  }
  return fit(timed);
}

std::optional<double> best_busbw_mbps(const Outcome& outcome) {
  std::optional<double> best;
  for (const SizeResult& size : outcome.sizes) {
    if (const std::optional<double> rate = busbw_mbps(size)) {
      best = std::max(best.value_or(0), *rate);
    }
  }
  return best;
}

bool is_wrong(const Outcome& outcome) {
  return std::ranges::any_of(outcome.sizes, &SizeResult::is_wrong);
}

}  // namespace chokepoint::probe::collective
