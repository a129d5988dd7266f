#include "probe/udp/search.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::probe::udp {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr double kFirstRate = 10e6;  // bit/s
constexpr double kMinRate = 10e3;
// Each trial until the first that fails has so many times the rate of the one before.
constexpr double kRiseFactor = 4;
// Two rates with a smaller ratio count as the same: the search ends there.
constexpr double kSameRateFactor = 1.01;
// A rate has failed after so many trials. A sender fails more often by chance: other threads may
// take its core.
constexpr int kTrialsToFail = 2;
constexpr int kSenderTrialsToFail = 4;
constexpr int kMaxStalls = 16;  // of the sender, in a whole search, that do not count as failures
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
         (failed_ > 0 && failed_ <= std::max(passed_ * kSameRateFactor, kMinRate));
}

std::optional<double> RateSearch::next() const {
  return close_enough() || trials_ >= kMaxTrials ? std::nullopt : std::optional(trying_);
}

double RateSearch::propose() const {
  if (failed_ <= 0) {
    return std::min(passed_ > 0 ? passed_ * kRiseFactor : kFirstRate, most_);
  }
  // Slightly less than what arrived when too much was sent, unless that has been tried already.
  constexpr double kShareOfDelivered = 0.995;
  const double low = std::max(passed_, kMinRate / kRiseFactor);
  const double middle = std::sqrt(low * failed_);
  const double hint = obstacle_->delivered_bits_per_s * kShareOfDelivered;
  if (hint > low * kSameRateFactor && hint < failed_ / kSameRateFactor) {
    return hint;
  }
  // Where that has passed, little more will pass.
  constexpr double kSmallRiseFactor = 1.03;
  const bool hint_passed = passed_ > 0 && hint >= passed_ / kSameRateFactor;
  return hint_passed ? std::min(middle, passed_ * kSmallRiseFactor) : middle;
}

bool RateSearch::has_failed(TrialEnd end) {
  if (end == TrialEnd::Stalled && ++stalls_ <= kMaxStalls) {
    return false;
  }
  const int enough = end == TrialEnd::Sender ? kSenderTrialsToFail : kTrialsToFail;
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
