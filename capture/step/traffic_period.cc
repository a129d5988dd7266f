#include "capture/step/traffic_period.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

namespace chokepoint::capture::step {
namespace {

// is_periodic().
constexpr double kMaxAlikeDeviation = 0.15;  // relative to the median
constexpr double kMinUnlikeShare = 0.11;     // of the values: fewer are occasional extra work
constexpr std::size_t kMaxLag = 48;          // in values
constexpr std::size_t kMinPeriods = 3;       // that must have been seen
constexpr double kMinAutocorrelation = 0.5;  // below this the peak is noise
constexpr double kNoiseDeviations = 4;       // standard deviations that noise does not reach
constexpr double kMinDip = 0.4;              // in front of the peak: without it, it is a trend

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

bool are_alike(const std::vector<double>& changes) {
  const auto off = std::ranges::count_if(
      changes, [](double change) { return std::abs(std::exp2(change) - 1) > kMaxAlikeDeviation; });
  return static_cast<double>(off) < kMinUnlikeShare * static_cast<double>(changes.size());
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

// BurstSteps.
constexpr double kMinStepPeriods = 0.55;  // length of a step, in periods
constexpr double kMaxStepPeriods = 1.6;
constexpr std::size_t kMaxStretches = 4'096;
constexpr std::size_t kJudgedStretches = 256;  // the newest
constexpr double kMaxStepPeriodsByBytes = 4;   // if no more than one step's bytes passed
constexpr double kMaxBytesDeviation = 0.25;    // relative to the median
constexpr double kMaxUnlikeShare = 0.2;        // of the stretches
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

// burst_begins().
constexpr double kMaxBinsPerPeriod = 56;
constexpr double kGapCost = 40;  // of a distance of e periods, in standard deviations of the rises
constexpr double kMinGapPeriods = 0.5;
constexpr double kMaxGapPeriods = 1.6;
constexpr double kMinRiseOfMedian = 0.25;  // a smaller rise is no burst

// In units of their root mean square.
std::vector<float> in_deviations(std::vector<float> values) {
  double squares = 0;
  for (const float value : values) {
    squares += static_cast<double>(value) * value;
  }
  const auto unit =
      static_cast<float>(std::sqrt(squares / std::max(1.0, static_cast<double>(values.size()))));
  std::ranges::for_each(values, [unit](float& value) { value /= unit > 0 ? unit : 1; });
  return values;
}

// For each bin: the bytes in the eighth of a period after it, less the average bytes in the third
// of a period before. Of equal bursts the one after the longest quiet time rises most.
std::vector<float> rises(const std::vector<float>& bins, double period) {
  const auto after = static_cast<std::size_t>(std::max(2.0, period / 8));
  const auto before = static_cast<std::size_t>(std::max(2.0, period / 3));
  std::vector<double> sums(bins.size() + 1);
  std::partial_sum(bins.begin(), bins.end(), sums.begin() + 1, std::plus<double>());
  std::vector<float> result(bins.size());
  const double share = static_cast<double>(after) / static_cast<double>(before);
  for (std::size_t i = before; i + after <= bins.size(); ++i) {
    const double rise = sums[i + after] - sums[i] - (sums[i] - sums[i - before]) * share;
    result[i] = static_cast<float>(std::max(rise, 0.0));
  }
  return in_deviations(std::move(result));
}

// The path through the traffic's rises that takes the steepest ones at distances close to the
// period, by dynamic programming. Steps may differ from each other; a burst inside a step is passed
// over.
class BurstPath {
 public:
  BurstPath(const std::vector<float>& rises, double period)
      : rises_(rises), score_(rises.size()), before_(rises.size(), kNone) {
    const auto shortest = static_cast<std::size_t>(period * kMinGapPeriods);
    for (std::size_t gap = 0; static_cast<double>(gap) <= period * kMaxGapPeriods; ++gap) {
      const double off = gap >= shortest ? std::log(static_cast<double>(gap) / period) : 0;
      cost_.push_back(static_cast<float>(kGapCost * off * off));
    }
    for (std::size_t i = 0; i < rises.size(); ++i) {
      score_[i] = rises[i];
      for (std::size_t gap = shortest; gap < cost_.size() && gap <= i; ++gap) {
        const float score = rises[i] + score_[i - gap] - cost_[gap];
        if (score > score_[i]) {
          score_[i] = score;
          before_[i] = i - gap;
        }
      }
    }
  }

  std::vector<std::size_t> places() const {
    const std::size_t last_part = score_.size() - std::min(score_.size(), cost_.size());
    auto at = static_cast<std::size_t>(
        std::max_element(score_.begin() + static_cast<std::ptrdiff_t>(last_part), score_.end()) -
        score_.begin());
    std::vector<std::size_t> places;
    for (; at < score_.size(); at = before_[at]) {
      places.push_back(at);
    }
    std::ranges::reverse(places);
    return without_weak(places);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::vector<std::size_t> without_weak(std::vector<std::size_t> places) const {
    std::vector<float> heights;
    for (const std::size_t place : places) {
      heights.push_back(rises_[place]);
    }
    std::ranges::sort(heights);
    const float least = heights.empty() ? 0 : heights[heights.size() / 2] * float{kMinRiseOfMedian};
    std::erase_if(places, [&](std::size_t place) { return rises_[place] <= least; });
    return places;
  }

  const std::vector<float>& rises_;
  std::vector<float> cost_;
  std::vector<float> score_;
  std::vector<std::size_t> before_;
};

double exact_place(const std::vector<float>& rises, std::size_t at) {
  if (at == 0 || at + 1 >= rises.size()) {
    return static_cast<double>(at);
  }
  const double bend = rises[at - 1] - 2.0 * rises[at] + rises[at + 1];
  const double off = bend < 0 ? (rises[at - 1] - rises[at + 1]) / (2 * bend) : 0;
  return static_cast<double>(at) + std::clamp(off, -0.5, 0.5);
}

// The level of bins at which steps of this length are followed.
std::size_t level_of(double period_ns) {
  std::size_t level = 0;
  while (level + 1 < BinnedTraffic::kLevels &&
         period_ns > kMaxBinsPerPeriod * static_cast<double>(BinnedTraffic::bin_ns(level))) {
    ++level;
  }
  return level;
}

// Where each step's burst begins, in order of time.
std::vector<std::int64_t> burst_begins(const BinnedTraffic& traffic, double period_ns,
                                       std::int64_t since_ns) {
  const std::size_t level = level_of(period_ns);
  const std::int64_t bin_ns = BinnedTraffic::bin_ns(level);
  const std::int64_t bins = (traffic.newest_ns() - since_ns) / bin_ns;
  const BinnedTraffic::Span span = traffic.newest(level, std::max(bins, std::int64_t{0}));
  const double period = period_ns / static_cast<double>(bin_ns);
  const std::vector<float> rising = rises(box_mean(clipped(span.bins), 3), period);
  std::vector<std::int64_t> begins;
  if (rising.empty()) {
    return begins;
  }
  for (const std::size_t place : BurstPath(rising, period).places()) {
    begins.push_back(span.begin_ns +
                     std::llround(exact_place(rising, place) * static_cast<double>(bin_ns)));
  }
  return begins;
}

// TrafficPeriod.
constexpr double kSamePeriod = 0.15;         // two periods that differ by less are the same
constexpr double kMinFoundPeriods = 4;       // over which a period has to be found to be accepted
constexpr int kMaxMisses = 3;                // searches in a row without it end an accepted period
constexpr double kCertainPeriods = 240;      // after so many, or
constexpr double kCertainNs = 60e9;          // after so long, but
constexpr double kMinCertainPeriods = 16;    // not before so many, steps are reported
constexpr double kUnsettledPeriods = 2;      // the newest: their bursts may still change
constexpr double kMaxUsualDeviation = 0.35;  // relative to the median; others are left out
constexpr std::int64_t kFollowedBins = 4'000;  // over which bursts are followed
constexpr std::size_t kMaxTimes = 256;

bool is_near(double one, double other) { return std::abs(one / other - 1) < kSamePeriod; }

double mean_of_usual(std::vector<double> times) {
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  double sum = 0;
  double count = 0;
  for (const double time : times) {
    if (std::abs(time / median - 1) <= kMaxUsualDeviation) {
      sum += time;
      ++count;
    }
  }
  return sum / count;
}

}  // namespace

bool is_periodic(std::span<const double> values) {
  if (values.size() < 2 * kMinPeriods) {
    return false;
  }
  std::vector<double> series = changes(values);
  if (are_alike(series)) {
    return false;
  }
  subtract_mean(series);
  const double enough = std::max(kMinAutocorrelation,
                                 kNoiseDeviations / std::sqrt(static_cast<double>(series.size())));
  double lowest = 1;
  for (std::size_t lag = 1; lag <= kMaxLag && kMinPeriods * lag <= series.size(); ++lag) {
    const double alike = autocorrelation(series, lag);
    if (alike >= enough && alike >= lowest + kMinDip) {
      return true;
    }
    lowest = std::min(lowest, alike);
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
  const auto alike = std::ranges::count_if(
      each, [&](double bytes) { return std::abs(bytes / usual - 1) <= kMaxBytesDeviation; });
  const double unlike = 1 - static_cast<double>(alike) / static_cast<double>(each.size());
  return usual > 0 && unlike <= kMaxUnlikeShare ? std::optional(usual) : std::nullopt;
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

struct TrafficPeriod::State {
  BinnedTraffic traffic = {};
  PeriodSearch search = {};
  std::optional<Candidate> found = {};  // the newest
  std::int64_t found_since_ns = 0;
  int misses = 0;
  std::optional<Candidate> current = {};
  std::int64_t accepted_since_ns = 0;
  std::int64_t begins_ns = 0;     // the newest settled burst; 0: none
  std::deque<double> times = {};  // of the newest steps
  BurstSteps bursts = {};
  std::int64_t count = 0;

  // A period that is found again and again is accepted; it is dropped when it is no longer found.
  void update_period() {
    const std::optional<Candidate> step = PeriodSearch::step_of(search.candidates(traffic));
    const std::int64_t newest_ns = traffic.newest_ns();
    const bool is_again = step && found && is_near(step->period_ns, found->period_ns);
    found = step;
    found_since_ns = is_again ? found_since_ns : newest_ns;
    misses = step ? 0 : misses + 1;
    if (is_again &&
        static_cast<double>(newest_ns - found_since_ns) >= kMinFoundPeriods * step->period_ns) {
      accept(*step);
    } else if (misses >= kMaxMisses) {
      current.reset();
      begins_ns = 0;
    }
  }

  void accept(const Candidate& step) {
    if (!current || !is_near(current->period_ns, step.period_ns)) {
      begins_ns = 0;
      times.clear();
      bursts.clear();
      accepted_since_ns = traffic.newest_ns();
    }
    current = step;
  }

  void follow(std::int64_t now_ns) {
    const double period_ns = current->period_ns;
    const std::int64_t bin_ns = BinnedTraffic::bin_ns(level_of(period_ns));
    const std::int64_t oldest_ns = std::max(traffic.newest_ns() - kFollowedBins * bin_ns,
                                            begins_ns == 0 ? found_since_ns - 512 * bin_ns : 0);
    const auto margin_ns = static_cast<std::int64_t>(6 * period_ns);
    const std::int64_t since_ns = std::max(oldest_ns, begins_ns - margin_ns);
    const auto settled_ns = std::min(now_ns, traffic.newest_ns()) -
                            static_cast<std::int64_t>(kUnsettledPeriods * period_ns);
    // A burst may begin one bin before the bin in which its rise shows.
    const std::int64_t early_ns = bin_ns;
    for (const std::int64_t begin_ns : burst_begins(traffic, period_ns, since_ns)) {
      const auto gap_ns = static_cast<double>(begin_ns - begins_ns);
      if (begin_ns > settled_ns || gap_ns < kMinStepPeriods * period_ns) {
        continue;
      }
      if (begins_ns > 0) {
        bursts.add({.start_ns = begins_ns,
                    .end_ns = begin_ns,
                    .bytes = traffic.bytes_between(begins_ns - early_ns, begin_ns - early_ns)});
        keep(gap_ns);
      }
      begins_ns = begin_ns;
    }
  }

  void keep(double time_ns) {
    if (time_ns > kMaxStepPeriods * current->period_ns) {
      return;
    }
    times.push_back(time_ns);
    if (times.size() > kMaxTimes) {
      times.pop_front();
    }
  }

  void report(const OnStep& on_step) {
    bursts.report(current->period_ns,
                  [&](std::int64_t start_ns, std::int64_t end_ns, std::int64_t steps) {
                    count += steps;
                    on_step({.start_ns = start_ns,
                             .end_ns = end_ns,
                             .number = count,
                             .source = record::StepSource::Traffic,
                             .merged = steps});
                  });
  }

  // Bursts inside a step are found earlier than the step itself.
  bool is_certain(std::int64_t now_ns) const {
    return current && static_cast<double>(now_ns - accepted_since_ns) >=
                          std::min(kCertainPeriods * current->period_ns,
                                   std::max(kCertainNs, kMinCertainPeriods * current->period_ns));
  }

  // Refined by the lengths of the steps, as long as these fit the period.
  double period_ns() const {
    if (times.size() < 3) {
      return current->period_ns;
    }
    const double mean = mean_of_usual({times.begin(), times.end()});
    return is_near(mean, current->period_ns) ? mean : current->period_ns;
  }
};

TrafficPeriod::TrafficPeriod() : state_(std::make_unique<State>()) {}
TrafficPeriod::~TrafficPeriod() = default;

void TrafficPeriod::add(std::int64_t t_ns, std::uint64_t bytes) {
  if (t_ns >= 0) {
    state_->traffic.add(t_ns, bytes);
  }
}

std::optional<Period> TrafficPeriod::estimate(std::int64_t now_ns) {
  state_->traffic.flush();
  state_->update_period();
  if (!state_->current) {
    return std::nullopt;
  }
  state_->follow(now_ns);
  return Period{.period_ns = state_->period_ns(),
                .begins_ns = state_->begins_ns,
                .strength = state_->current->strength};
}

void TrafficPeriod::report(std::int64_t now_ns, const OnStep& on_step) {
  if (state_->is_certain(now_ns)) {
    state_->report(on_step);
  }
}

}  // namespace chokepoint::capture::step
