#include "capture/step/traffic_period.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <vector>

#include "capture/step/binned_traffic.h"
#include "capture/step/burst_steps.h"
#include "capture/step/burst_track.h"
#include "capture/step/period_search.h"

namespace chokepoint::capture::step {
namespace {

constexpr double kSamePeriod = 0.15;  // of the period
constexpr double kFirm = 4;           // periods over which it has to be found
constexpr int kMostTimesMissed = 3;   // times that it may not be found before it is given up
constexpr double kSurePeriods = 240;
constexpr double kSureNs = 60e9;
constexpr double kLeastSurePeriods = 16;
constexpr double kBehind = 2;          // periods before now are settled
constexpr double kUsual = 0.35;        // off the median: others do not tell the period
constexpr std::int64_t kBins = 4'000;  // to follow bursts over
constexpr std::size_t kMostTimes = 256;

bool is_near(double one, double other) { return std::abs(one / other - 1) < kSamePeriod; }

double mean_of_usual(std::vector<double> times) {
  std::ranges::sort(times);
  const double median = times[times.size() / 2];
  double sum = 0;
  double count = 0;
  for (const double time : times) {
    if (std::abs(time / median - 1) <= kUsual) {
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
  int times_missed = 0;
  std::optional<Candidate> current = {};
  std::int64_t believed_since_ns = 0;
  std::int64_t begins_ns = 0;     // the newest settled burst; 0: none
  std::deque<double> times = {};  // of the newest steps
  BurstSteps bursts = {};
  std::int64_t count = 0;

  // A period that is found again and again is believed; it is given up when it is not found.
  void look() {
    const std::optional<Candidate> step = PeriodSearch::step_of(search.candidates(traffic));
    const std::int64_t newest_ns = traffic.newest_ns();
    const bool is_again = step && found && is_near(step->period_ns, found->period_ns);
    found = step;
    found_since_ns = is_again ? found_since_ns : newest_ns;
    times_missed = step ? 0 : times_missed + 1;
    if (is_again && static_cast<double>(newest_ns - found_since_ns) >= kFirm * step->period_ns) {
      believe(*step);
    } else if (times_missed >= kMostTimesMissed) {
      current.reset();
      begins_ns = 0;
    }
  }

  void believe(const Candidate& step) {
    if (!current || !is_near(current->period_ns, step.period_ns)) {
      begins_ns = 0;
      times.clear();
      bursts.clear();
      believed_since_ns = traffic.newest_ns();
    }
    current = step;
  }

  void follow(std::int64_t now_ns) {
    const double period_ns = current->period_ns;
    const std::int64_t bin_ns = BinnedTraffic::bin_ns(level_of(period_ns));
    const std::int64_t oldest_ns = std::max(traffic.newest_ns() - kBins * bin_ns,
                                            begins_ns == 0 ? found_since_ns - 512 * bin_ns : 0);
    const auto margin_ns = static_cast<std::int64_t>(6 * period_ns);
    const std::int64_t since_ns = std::max(oldest_ns, begins_ns - margin_ns);
    const auto settled_ns =
        std::min(now_ns, traffic.newest_ns()) - static_cast<std::int64_t>(kBehind * period_ns);
    // A burst may begin a bin before it is seen.
    const std::int64_t early_ns = bin_ns;
    for (const std::int64_t begin_ns : burst_begins(traffic, period_ns, since_ns)) {
      const auto gap_ns = static_cast<double>(begin_ns - begins_ns);
      if (begin_ns > settled_ns || gap_ns < kShortestStep * period_ns) {
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
    if (time_ns > kLongestStep * current->period_ns) {
      return;
    }
    times.push_back(time_ns);
    if (times.size() > kMostTimes) {
      times.pop_front();
    }
  }

  void tell(const OnStep& on_step) {
    bursts.tell(current->period_ns,
                [&](std::int64_t start_ns, std::int64_t end_ns, std::int64_t steps) {
                  count += steps;
                  on_step({.start_ns = start_ns,
                           .end_ns = end_ns,
                           .number = count,
                           .source = record::StepSource::Traffic,
                           .merged = steps});
                });
  }

  // Bursts inside a step are found before the step is.
  bool is_sure(std::int64_t now_ns) const {
    return current && static_cast<double>(now_ns - believed_since_ns) >=
                          std::min(kSurePeriods * current->period_ns,
                                   std::max(kSureNs, kLeastSurePeriods * current->period_ns));
  }

  // Refined by what the steps took, as long as they are of this period.
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
  state_->look();
  if (!state_->current) {
    return std::nullopt;
  }
  state_->follow(now_ns);
  return Period{.period_ns = state_->period_ns(),
                .begins_ns = state_->begins_ns,
                .strength = state_->current->strength};
}

void TrafficPeriod::report(std::int64_t now_ns, const OnStep& on_step) {
  if (!state_->is_sure(now_ns)) {
    return;
  }
  state_->tell(on_step);
}

}  // namespace chokepoint::capture::step
