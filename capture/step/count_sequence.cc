#include "capture/step/count_sequence.h"

#include <algorithm>
#include <cmath>

namespace chokepoint::capture::step {
namespace {

constexpr std::int64_t kMostRise = 100'000;  // more is another number
constexpr double kMostTold = 1.1;            // of the time since the line before

}  // namespace

void CountSequence::begin_at(const Place& place) {
  last_ = place;
  restart_.reset();
  base_ns_ = place.t_ns;
  risen_ = 0;
}

void CountSequence::take(std::int64_t t_ns, const Line& line) {
  const Place place{.t_ns = t_ns, .number = line.number};
  if (!last_ || line.number - last_->number > kMostRise) {
    begin_at(place);
  } else if (line.number > last_->number) {
    rise(*last_, line);
    last_ = place;
    restart_.reset();
  } else {
    fall(t_ns, line);
  }
}

void CountSequence::rise(const Place& from, const Line& line) {
  const std::int64_t steps = line.number - from.number;
  if (risen_ == 0) {
    told_seconds_ = 0;
    samples_ = 0;
  }
  risen_ += steps;
  samples_ += line.samples.value_or(0);
  const bool says_it = line.mean_seconds && told_seconds_ >= 0;
  told_seconds_ = says_it ? told_seconds_ + *line.mean_seconds * static_cast<double>(steps) : -1;
}

// Also where it stays: an epoch of two steps ends as it ended before.
void CountSequence::fall(std::int64_t t_ns, const Line& line) {
  const std::int64_t since_ns = t_ns - last_->t_ns;
  if (since_ns * 2 < usual_gap_ns()) {
    return;
  }
  const bool is_over = line.number < last_->number || since_ns * 2 > usual_gap_ns() * 3;
  if (restart_ && line.number > restart_->number && is_over) {
    const Place from = *restart_;
    begin_at({.t_ns = t_ns, .number = line.number});
    base_ns_ = from.t_ns;
    rise(from, line);
  } else if (line.number < (restart_ ? restart_->number : last_->number)) {
    restart_ = {.t_ns = t_ns, .number = line.number};
  }
}

std::optional<Step> CountSequence::end_piece(std::int64_t t_ns) {
  if (risen_ == 0 || t_ns <= base_ns_) {
    return std::nullopt;
  }
  Step step{.start_ns = base_ns_,
            .end_ns = t_ns,
            .number = last_->number,
            .source = record::StepSource::Output,
            .merged = risen_,
            .busy_ns = told_busy_ns(t_ns - base_ns_)};
  if (samples_ > 0) {
    step.samples = samples_;
  }
  keep_gap(t_ns - base_ns_);
  base_ns_ = t_ns;
  risen_ = 0;
  return step;
}

std::optional<std::int64_t> CountSequence::told_busy_ns(std::int64_t gap_ns) const {
  const double told_ns = told_seconds_ * 1e9;
  const bool is_believed =
      risen_ > 1 && told_ns > 0 && told_ns <= kMostTold * static_cast<double>(gap_ns);
  return is_believed ? std::optional(std::llround(told_ns)) : std::nullopt;
}

void CountSequence::keep_gap(std::int64_t gap_ns) {
  gaps_ns_.at(gaps_ % gaps_ns_.size()) = gap_ns;
  ++gaps_;
}

std::int64_t CountSequence::usual_gap_ns() const {
  std::array<std::int64_t, 9> sorted = gaps_ns_;
  const std::size_t held = std::min(gaps_, sorted.size());
  std::ranges::sort(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(held));
  return held == 0 ? 0 : sorted.at(held / 2);
}

}  // namespace chokepoint::capture::step
