#include "capture/step/burst_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace chokepoint::capture::step {

namespace {

// Values set by the jobs of docs/internals/run-steps.md. Of is_periodic():
constexpr double kMaxUniformDeviation = 0.15;  // relative to the median
constexpr double kMinDeviatingShare = 0.11;    // of the values: fewer are occasional extra work
constexpr std::size_t kMaxLag = 48;            // in values
constexpr std::size_t kMinPeriods = 3;         // that must have been seen
constexpr double kMinAutocorrelation = 0.5;    // below this the peak is noise
constexpr double kNoiseDeviations = 4;         // standard deviations that noise does not reach
constexpr double kMinDip = 0.4;                // in front of the peak: without it, it is a trend

// Logarithms (base 2) of value / median, clamped to ±1: one value must not outweigh the rest.
std::vector<double> changes(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const double median = std::max(sorted[sorted.size() / 2], 1.0);
  std::vector<double> result;
  for (const double value : values) {
    result.push_back(std::clamp(std::log2(std::max(value, 1.0) / median), -1.0, 1.0));
  }
  return result;
}

bool are_uniform(const std::vector<double>& changes) {
  const auto off = std::ranges::count_if(changes, [](double change) {
    return std::abs(std::exp2(change) - 1) > kMaxUniformDeviation;
  });
  return static_cast<double>(off) < kMinDeviatingShare * static_cast<double>(changes.size());
}

void subtract_mean(std::vector<double>& series) {
  double sum = 0;
  for (const double value : series) {
    sum += value;
  }
  const double mean = sum / static_cast<double>(series.size());
  std::ranges::for_each(series, [mean](double& value) { value -= mean; });
}

double autocorrelation(const std::vector<double>& series, std::size_t lag) {
  double product = 0;
  double left = 0;
  double right = 0;
  for (std::size_t i = lag; i < series.size(); ++i) {
    product += series[i] * series[i - lag];
    left += series[i - lag] * series[i - lag];
    right += series[i] * series[i];
  }
  return left > 0 && right > 0 ? product / std::sqrt(left * right) : 0;
}

// Of BurstSteps:
constexpr std::size_t kMaxStretches = 4'096;
constexpr std::size_t kJudgedStretches = 256;  // the newest
constexpr double kMaxStepPeriodsByBytes = 4;   // if no more than one step's bytes passed
constexpr double kMaxBytesDeviation = 0.25;    // relative to the median
constexpr double kMaxDeviatingShare = 0.2;     // of the stretches
constexpr double kMaxPauseShare = 0.12;        // of the stretches
constexpr double kMaxOffWholeStep = 0.3;       // of a step's bytes, missing or in excess
constexpr std::size_t kMaxGroupStretches = 4;
constexpr double kCarriedShare = 0.8;  // of the bytes missing or in excess: the median is not exact

template <class Of>
std::vector<double> values(const std::deque<Stretch>& stretches, Of of) {
  std::vector<double> result;
  const std::size_t from = stretches.size() - std::min(stretches.size(), kJudgedStretches);
  for (std::size_t i = from; i < stretches.size(); ++i) {
    result.push_back(of(stretches[i]));
  }
  return result;
}

double length_of(const Stretch& stretch) {
  return static_cast<double>(stretch.end_ns - stretch.start_ns);
}

double bytes_of(const Stretch& stretch) { return stretch.bytes; }

double share_above(const std::vector<double>& all, double limit) {
  const auto count = std::ranges::count_if(all, [&](double value) { return value > limit; });
  return static_cast<double>(count) / static_cast<double>(all.size());
}

}  // namespace

bool is_periodic(std::span<const double> values) {
  if (values.size() < 2 * kMinPeriods) {
    return false;
  }
  std::vector<double> series = changes(values);
  if (are_uniform(series)) {
    return false;
  }
  subtract_mean(series);
  const double enough = std::max(kMinAutocorrelation,
                                 kNoiseDeviations / std::sqrt(static_cast<double>(series.size())));
  double lowest = 1;
  for (std::size_t lag = 1; lag <= kMaxLag && kMinPeriods * lag <= series.size(); ++lag) {
    const double similarity = autocorrelation(series, lag);
    if (similarity >= enough && similarity >= lowest + kMinDip) {
      return true;
    }
    lowest = std::min(lowest, similarity);
  }
  return false;
}

void BurstSteps::add(const Stretch& stretch) {
  stretches_.push_back(stretch);
  forget();
}

void BurstSteps::clear() {
  stretches_.clear();
  carried_ = 0;
  reported_ = 0;
}

void BurstSteps::forget() {
  while (stretches_.size() > kMaxStretches || reported_ > kJudgedStretches) {
    stretches_.pop_front();
    reported_ -= reported_ > 0 ? 1 : 0;
  }
}

void BurstSteps::report(double period_ns, const OnSteps& on_steps) {
  if (reported_ == stretches_.size() || !are_steps(period_ns)) {
    return;
  }
  const std::optional<double> usual = usual_bytes();
  while (reported_ < stretches_.size()) {
    const std::optional<Group> group =
        usual ? next_by_bytes(period_ns, *usual) : next_by_length(period_ns);
    if (!group) {
      break;
    }
    const Stretch& last = stretches_[reported_ + group->stretches - 1];
    if (group->steps > 0) {
      on_steps(stretches_[reported_].start_ns, last.end_ns, group->steps);
    }
    reported_ += group->stretches;
    carried_ = group->carried;
  }
  forget();
}

bool BurstSteps::are_steps(double period_ns) const {
  const std::vector<double> lengths = values(stretches_, length_of);
  return share_above(lengths, kMaxStepPeriods * period_ns) <= kMaxPauseShare &&
         !is_periodic(lengths) && !is_periodic(values(stretches_, bytes_of));
}

// nullopt if steps differ in their bytes.
std::optional<double> BurstSteps::usual_bytes() const {
  std::vector<double> each = values(stretches_, bytes_of);
  std::ranges::sort(each);
  const double usual = each[each.size() / 2];
  const auto near_usual = std::ranges::count_if(
      each, [&](double bytes) { return std::abs(bytes / usual - 1) <= kMaxBytesDeviation; });
  const double deviating = 1 - static_cast<double>(near_usual) / static_cast<double>(each.size());
  return usual > 0 && deviating <= kMaxDeviatingShare ? std::optional(usual) : std::nullopt;
}

// As few stretches as make whole steps; nullopt if more must come first. Bytes that were missing
// before are carried over: borders that are off by a little each time would add up to a false step.
std::optional<BurstSteps::Group> BurstSteps::next_by_bytes(double period_ns, double usual) const {
  double bytes = carried_ * usual;
  for (std::size_t count = 1; count <= kMaxGroupStretches; ++count) {
    if (reported_ + count > stretches_.size()) {
      return std::nullopt;
    }
    const Stretch& last = stretches_[reported_ + count - 1];
    bytes += last.bytes;
    const double steps = std::round(bytes / usual);
    const auto took_ns = static_cast<double>(last.end_ns - stretches_[reported_].start_ns);
    if (took_ns > kMaxStepPeriodsByBytes * std::max(steps, 1.0) * period_ns) {
      return Group{.stretches = count};
    }
    if (steps >= 1 && std::abs(bytes / usual - steps) <= kMaxOffWholeStep) {
      return Group{.stretches = count,
                   .steps = std::llround(steps),
                   .carried = kCarriedShare * (bytes / usual - steps)};
    }
  }
  return Group{.stretches = 1};
}

BurstSteps::Group BurstSteps::next_by_length(double period_ns) const {
  const double length = length_of(stretches_[reported_]) / period_ns;
  return {.stretches = 1, .steps = length >= kMinStepPeriods && length <= kMaxStepPeriods ? 1 : 0};
}

}  // namespace chokepoint::capture::step
