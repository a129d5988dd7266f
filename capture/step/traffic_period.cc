#include "capture/step/traffic_period.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "capture/step/binned_traffic.h"
#include "capture/step/burst_steps.h"
#include "capture/step/period_search.h"

namespace chokepoint::capture::step {
namespace {

// Values set by the jobs of docs/internals/run-steps.md. Of burst_begins():
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

// Of TrafficPeriod:
constexpr double kMaxSamePeriodDifference = 0.15;  // two periods that differ by less are the same
constexpr double kMinFoundPeriods = 4;       // over which a period has to be found to be accepted
constexpr int kMaxMisses = 3;                // searches in a row without it end an accepted period
constexpr double kCertainPeriods = 240;      // after so many, or
constexpr double kCertainNs = 60e9;          // after so long, but
constexpr double kMinCertainPeriods = 16;    // not before so many, steps are reported
constexpr double kUnsettledPeriods = 2;      // the newest: their bursts may still change
constexpr double kMaxUsualDeviation = 0.35;  // relative to the median; others are left out
constexpr std::int64_t kFollowedBins = 4'000;  // over which bursts are followed
constexpr std::size_t kMaxTimes = 256;

bool is_near(double one, double other) {
  return std::abs(one / other - 1) < kMaxSamePeriodDifference;
}

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
