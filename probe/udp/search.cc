#include "probe/udp/search.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::probe::udp {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr double kFirstRate = 10e6;
constexpr double kRise = 4;
constexpr double kCloseEnough = 1.01;
constexpr double kLowestRate = 10e3;
constexpr int kFailuresThatCount = 2;
// A sender fails more often by chance: other threads may take its core.
constexpr int kSenderFailuresThatCount = 4;
constexpr int kStallsForgiven = 16;  // in a whole search
constexpr int kMaxTrials = 80;

constexpr milliseconds kMinTrialTime{250};
constexpr milliseconds kMaxTrialTime{2000};
// Per trial at least. With so few packets one that is lost by chance exceeds the usual limit, but
// with many more a trial of a slow path would take minutes.
constexpr double kMinPackets = 200;

nanoseconds trial_time(double bits_per_s, std::size_t packet_bytes) {
  const double time_s = kMinPackets * static_cast<double>(packet_bytes) * 8 / bits_per_s;
  return std::clamp<nanoseconds>(nanoseconds(static_cast<std::int64_t>(time_s * 1e9)),
                                 kMinTrialTime, kMaxTrialTime);
}

}  // namespace

RateSearch::RateSearch(double max_loss, double max_bits_per_s)
    : max_loss_(max_loss), most_(max_bits_per_s > 0 ? max_bits_per_s : HUGE_VAL) {
  trying_ = propose();
}

bool RateSearch::close_enough() const {
  return passed_ >= most_ ||
         (failed_ > 0 && failed_ <= std::max(passed_ * kCloseEnough, kLowestRate));
}

std::optional<double> RateSearch::next() const {
  return close_enough() || trials_ >= kMaxTrials ? std::nullopt : std::optional(trying_);
}

double RateSearch::propose() const {
  if (failed_ <= 0) {
    return std::min(passed_ > 0 ? passed_ * kRise : kFirstRate, most_);
  }
  // Slightly less than what arrived when too much was sent, unless that has been tried already.
  constexpr double kCautious = 0.995;
  const double low = std::max(passed_, kLowestRate / kRise);
  const double middle = std::sqrt(low * failed_);
  const double hint = obstacle_->delivered_bits_per_s * kCautious;
  if (hint > low * kCloseEnough && hint < failed_ / kCloseEnough) {
    return hint;
  }
  // Where that has passed, little more will pass.
  constexpr double kLittleMore = 1.03;
  const bool hint_passed = passed_ > 0 && hint >= passed_ / kCloseEnough;
  return hint_passed ? std::min(middle, passed_ * kLittleMore) : middle;
}

bool RateSearch::has_failed(TrialEnd end) {
  if (end == TrialEnd::Stalled && ++stalls_ <= kStallsForgiven) {
    return false;
  }
  const int enough = end == TrialEnd::Sender ? kSenderFailuresThatCount : kFailuresThatCount;
  return ++failures_ >= enough;
}

void RateSearch::add(const Trial& trial) {
  ++trials_;
  const TrialEnd end = judge(trial, max_loss_);
  if (end == TrialEnd::Passed) {
    passed_ = std::max(passed_, trying_);
  } else if (has_failed(end)) {
    failed_ = trying_;
    obstacle_ = trial;
  } else {
    return;
  }
  failures_ = 0;
  trying_ = propose();
}

Result<Found> find_highest_rate(Test& test, RunPlan& plan, const SearchPlan& search,
                                const TrialWatch& watch) {
  RateSearch rates(search.max_loss, search.max_bits_per_s);
  Found found;
  while (const std::optional<double> rate = rates.next()) {
    RunPlan trial_plan = plan;
    trial_plan.bits_per_s = *rate;
    trial_plan.time = std::min(plan.time, trial_time(*rate, plan.packet_bytes));
    TRY(RunResult result, test.run(trial_plan, [](const Live&) {}));
    ++plan.run;
    ++found.trials;
    const Trial trial = trial_of(outcomes_of(result, trial_plan, search.direction), *rate);
    const TrialEnd end = judge(trial, search.max_loss);
    found.interrupted = result.interrupted;
    if (!found.best || (end == TrialEnd::Passed && *rate > found.best_plan.bits_per_s)) {
      found.best = std::move(result);
      found.best_plan = trial_plan;
    }
    if (found.interrupted) {
      break;
    }
    watch(trial, end);
    rates.add(trial);
  }
  found.bits_per_s = rates.best_bits_per_s();
  found.obstacle = rates.obstacle();
  return found;
}

}  // namespace chokepoint::probe::udp
