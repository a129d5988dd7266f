#include "analysis/phases/rounds.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/math/statistics.h"

namespace chokepoint::analysis {
namespace {

constexpr double kLeastOfUsual = 0.1;    // of a usual exchange's bytes; a loss average has less
constexpr double kMostBusyUnits = 0.6;   // otherwise most steps exchange
constexpr double kLeastRegular = 0.8;    // of intervals, and of exchanges by their bytes
constexpr double kBytesApart = 0.25;     // the same tensors are exchanged each time
constexpr std::size_t kLeastSyncs = 3;   // as far apart each
constexpr std::size_t kEnoughSyncs = 5;  // of which some may be at other steps
constexpr std::int64_t kExactUpTo = 4;   // steps; a longer interval may be one off

// The bytes of the unit at which, from the largest on, half of all bytes are reached: a percentile
// is 0 where few steps exchange, and a maximum may be a checkpoint's.
double usual_bytes(std::span<const StepUnit> units) {
  std::vector<double> bytes(units.size());
  std::ranges::transform(units, bytes.begin(), &StepUnit::bytes);
  std::ranges::sort(bytes, std::ranges::greater());
  const double half = math::sum_by(bytes, std::identity()) / 2;
  double sum = 0;
  for (const double each : bytes) {
    sum += each;
    if (sum >= half) {
      return each;
    }
  }
  return 0;
}

// Neighbours that exchange are one: a transfer may go on over several steps.
std::vector<SyncSteps> syncs_in(std::span<const StepUnit> units, double least_bytes) {
  std::vector<SyncSteps> syncs;
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    if (units[unit].bytes < least_bytes) {
      continue;
    }
    if (!syncs.empty() && syncs.back().unit + syncs.back().units == unit) {
      ++syncs.back().units;
      syncs.back().span.end_ns = units[unit].span.end_ns;
      syncs.back().bytes += units[unit].bytes;
    } else {
      syncs.push_back({.unit = unit, .span = units[unit].span, .bytes = units[unit].bytes});
    }
  }
  return syncs;
}

// In steps, from one exchange to the next, where all between them was read.
std::vector<std::int64_t> intervals_of(std::span<const StepUnit> units,
                                       std::span<const SyncSteps> syncs) {
  std::vector<std::int64_t> intervals;
  for (std::size_t at = 1; at < syncs.size(); ++at) {
    const auto between = units.subspan(syncs[at - 1].unit, syncs[at].unit - syncs[at - 1].unit + 1);
    if (std::ranges::all_of(between, &StepUnit::is_read)) {
      intervals.push_back(between.back().first - between.front().first);
    }
  }
  return intervals;
}

std::optional<std::int64_t> regular_interval(std::vector<std::int64_t> intervals) {
  if (intervals.size() + 1 < kLeastSyncs) {
    return std::nullopt;
  }
  const auto middle = intervals.begin() + static_cast<std::ptrdiff_t>(intervals.size() / 2);
  std::ranges::nth_element(intervals, middle);
  const std::int64_t every = *middle;
  const std::int64_t apart = every > kExactUpTo ? 1 : 0;
  const auto regular = std::ranges::count_if(
      intervals, [&](std::int64_t each) { return std::abs(each - every) <= apart; });
  const auto count = static_cast<double>(intervals.size());
  const double least = intervals.size() + 1 < kEnoughSyncs ? 1 : kLeastRegular;
  return every > 1 && static_cast<double>(regular) >= least * count ? std::optional(every)
                                                                    : std::nullopt;
}

// What is exchanged at other times, as a checkpoint, is of another size.
void keep_of_usual_size(std::vector<SyncSteps>& syncs) {
  std::vector<double> bytes(syncs.size());
  std::ranges::transform(syncs, bytes.begin(), &SyncSteps::bytes);
  const double usual = *math::median(bytes);
  std::erase_if(syncs, [&](const SyncSteps& sync) {
    return std::abs(sync.bytes - usual) > kBytesApart * usual;
  });
}

// Of a step of each unit without exchange.
std::vector<double> quiet_ns(std::span<const StepUnit> units, double least_bytes) {
  std::vector<double> lengths;
  for (const StepUnit& unit : units) {
    if (unit.bytes < least_bytes) {
      lengths.push_back(static_cast<double>(unit.span.length_ns()) /
                        static_cast<double>(unit.steps));
    }
  }
  return lengths;
}

}  // namespace

std::optional<SyncRounds> find_rounds(std::span<const StepUnit> units) {
  const double least_bytes = kLeastOfUsual * usual_bytes(units);
  const auto busy =
      std::ranges::count_if(units, [&](const StepUnit& unit) { return unit.bytes >= least_bytes; });
  if (least_bytes <= 0 ||
      static_cast<double>(busy) > kMostBusyUnits * static_cast<double>(units.size())) {
    return std::nullopt;
  }
  std::vector<SyncSteps> syncs = syncs_in(units, least_bytes);
  const std::size_t all = syncs.size();
  keep_of_usual_size(syncs);
  const auto every = regular_interval(intervals_of(units, syncs));
  if (!every || static_cast<double>(syncs.size()) < kLeastRegular * static_cast<double>(all)) {
    return std::nullopt;
  }
  SyncRounds rounds{.every = *every, .inner_ns = *math::median(quiet_ns(units, least_bytes))};
  for (SyncSteps& sync : syncs) {
    double steps = 0;
    for (const StepUnit& unit : units.subspan(sync.unit, sync.units)) {
      steps += static_cast<double>(unit.steps);
    }
    sync.extra_ns = static_cast<double>(sync.span.length_ns()) - steps * rounds.inner_ns;
  }
  rounds.syncs = std::move(syncs);
  return rounds;
}

}  // namespace chokepoint::analysis
