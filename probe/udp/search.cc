#include "probe/udp/search.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::probe::udp {
namespace {

constexpr double kFirst = 10e6;
constexpr double kRise = 4;
constexpr double kCloseEnough = 1.01;
constexpr double kLowest = 10e3;
constexpr int kFailuresThatCount = 2;
// A sender that is kept from its core for a moment says nothing of the path.
constexpr int kSenderFailuresThatCount = 4;
constexpr int kStallsForgiven = 16;  // in a whole search
// No stall loses so much.
constexpr double kBeyondStalls = 0.2;
constexpr int kMostTrials = 80;
// What arrives in a short trial is this much less than what was offered by chance alone.
constexpr double kKeepsUp = 0.985;
constexpr double kOfferedInTrial = 0.99;

TrialEnd judge_steady(const Trial& trial, double most_loss) {
  if (trial.loss > most_loss) {
    return trial.loss_in_queue > trial.loss / 2 ? TrialEnd::ReceiverQueue : TrialEnd::Loss;
  }
  if (trial.offered_bits_per_s < kOfferedInTrial * trial.bits_per_s) {
    return TrialEnd::Sender;
  }
  return trial.delivered_bits_per_s < kKeepsUp * trial.offered_bits_per_s ? TrialEnd::FillsQueue
                                                                          : TrialEnd::Passed;
}

}  // namespace

TrialEnd judge(const Trial& trial, double most_loss) {
  const TrialEnd end = judge_steady(trial, most_loss);
  const bool forgiven = trial.stalled && trial.loss < kBeyondStalls;
  return forgiven && end != TrialEnd::Passed ? TrialEnd::Stalled : end;
}

RateSearch::RateSearch(double most_loss, double most_bits_per_s)
    : most_loss_(most_loss), most_(most_bits_per_s > 0 ? most_bits_per_s : HUGE_VAL) {
  trying_ = propose();
}

bool RateSearch::close_enough() const {
  return passed_ >= most_ || (failed_ > 0 && failed_ <= std::max(passed_ * kCloseEnough, kLowest));
}

std::optional<double> RateSearch::next() const {
  return close_enough() || trials_ >= kMostTrials ? std::nullopt : std::optional(trying_);
}

double RateSearch::propose() const {
  if (failed_ <= 0) {
    return std::min(passed_ > 0 ? passed_ * kRise : kFirst, most_);
  }
  // A little less than what arrived when too much was sent, unless that is known already.
  constexpr double kCautious = 0.995;
  const double low = std::max(passed_, kLowest / kRise);
  const double middle = std::sqrt(low * failed_);
  const double hint = obstacle_->delivered_bits_per_s * kCautious;
  if (hint > low * kCloseEnough && hint < failed_ / kCloseEnough) {
    return hint;
  }
  // Where that has passed, hardly more will.
  constexpr double kHardlyMore = 1.03;
  const bool hint_passed = passed_ > 0 && hint >= passed_ / kCloseEnough;
  return hint_passed ? std::min(middle, passed_ * kHardlyMore) : middle;
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
  const TrialEnd end = judge(trial, most_loss_);
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

}  // namespace chokepoint::probe::udp
