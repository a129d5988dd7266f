#include "base/trends/daily_rhythm.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/math/statistics.h"

namespace chokepoint::trends {
namespace {

constexpr std::int64_t kDayNs = 86'400'000'000'000;
constexpr std::int64_t kSameHourNs = 3'600'000'000'000;
constexpr std::size_t kSlots = 24;

std::int64_t hours_apart_ns(std::int64_t one_ns, std::int64_t other_ns) {
  const std::int64_t apart_ns = std::abs(one_ns - other_ns) % kDayNs;
  return std::min(apart_ns, kDayNs - apart_ns);
}

std::size_t slot_of(std::int64_t t_ns) {
  const std::int64_t of_day_ns = (t_ns % kDayNs + kDayNs) % kDayNs;
  return static_cast<std::size_t>(of_day_ns / (kDayNs / static_cast<std::int64_t>(kSlots)));
}

// Every value less the median of the day around it.
std::vector<double> off_the_day(std::span<const std::int64_t> times_ns,
                                std::span<const double> values) {
  std::vector<double> result(values.size());
  // Near the ends a whole day, too: half of one holds half of the rhythm.
  const std::int64_t earliest_ns = times_ns.front() + kDayNs / 2;
  const std::int64_t latest_ns = std::max(earliest_ns, times_ns.back() - kDayNs / 2);
  std::vector<double> near;  // sorted: the values of [from, to)
  std::size_t from = 0;
  std::size_t to = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t middle_ns = std::clamp(times_ns[i], earliest_ns, latest_ns);
    while (to < values.size() && times_ns[to] < middle_ns + kDayNs / 2) {
      near.insert(std::ranges::upper_bound(near, values[to]), values[to]);
      ++to;
    }
    while (from < to && times_ns[from] < middle_ns - kDayNs / 2) {
      near.erase(std::ranges::lower_bound(near, values[from]));
      ++from;
    }
    result[i] = values[i] - (near.empty() ? values[from] : near[near.size() / 2]);
  }
  return result;
}

double mean_distance(std::span<const double> values) {
  return math::sum_by(values, [](double value) { return std::abs(value); }) /
         static_cast<double>(values.size());
}

}  // namespace

bool has_times_of_day(std::span<const std::int64_t> times_ns) {
  const std::int64_t span_ns = times_ns.back() - times_ns.front();
  return span_ns / static_cast<std::int64_t>(times_ns.size()) < kDayNs / 2;
}

std::vector<double> without_rhythm(std::span<const std::int64_t> times_ns,
                                   std::span<const double> values) {
  constexpr std::int64_t kLeastDays = 3;
  constexpr std::size_t kLeastOfSlot = 3;
  constexpr double kLeastGain = 0.15;  // of the mean distance; a rhythm that is none explains less
  std::vector<double> result(values.begin(), values.end());
  if (times_ns.back() - times_ns.front() < kLeastDays * kDayNs || !has_times_of_day(times_ns)) {
    return result;
  }
  const std::vector<double> off = off_the_day(times_ns, values);
  std::vector<std::vector<double>> slots(kSlots);
  for (std::size_t i = 0; i < off.size(); ++i) {
    slots[slot_of(times_ns[i])].push_back(off[i]);
  }
  std::vector<double> rest = off;
  std::vector<double> usual(kSlots, 0);
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    usual[slot] = slots[slot].size() < kLeastOfSlot ? 0 : *math::median(slots[slot]);
  }
  for (std::size_t i = 0; i < off.size(); ++i) {
    const double part = usual[slot_of(times_ns[i])];
    rest[i] -= part;
    result[i] -= part;
  }
  // So many medians explain some of any noise: of normal values a fifth with three days, less of
  // more.
  const double days = static_cast<double>(values.size()) / kSlots;
  if (mean_distance(rest) > mean_distance(off) * (1 - kLeastGain - 0.6 / std::max(days, 1.0))) {
    return {values.begin(), values.end()};
  }
  return result;
}

std::optional<double> change_at_same_hours(std::span<const std::int64_t> times_ns,
                                           std::span<const double> values, std::size_t k,
                                           std::size_t min_points) {
  std::vector<double> differences;
  for (std::size_t i = k; i < values.size(); ++i) {
    double sum = 0;
    double count = 0;
    for (std::size_t j = 0; j < k; ++j) {
      if (times_ns[i] - times_ns[j] > kDayNs / 2 &&
          hours_apart_ns(times_ns[i], times_ns[j]) <= kSameHourNs) {
        sum += values[j];
        ++count;
      }
    }
    if (count > 0) {
      differences.push_back(values[i] - sum / count);
    }
  }
  return differences.size() < min_points ? std::nullopt : math::median(differences);
}

}  // namespace chokepoint::trends
