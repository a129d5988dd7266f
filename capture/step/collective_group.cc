#include "capture/step/collective_group.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace chokepoint::capture::step {
namespace {

constexpr std::size_t kMostItems = 1'024;
constexpr std::size_t kUnsettled = 4;
constexpr double kOffWholeCycle = 0.125;  // of a cycle, that may be missing or too many
constexpr double kLostSteps = 1.6;        // of a cycle's collectives are more than one step's

}  // namespace

void CollectiveGroup::add(const record::Collective& collective) {
  const CycleItem item{.sized = {.kind = static_cast<std::int64_t>(collective.kind),
                                 .bytes = static_cast<double>(collective.bytes.value_or(0))},
                       .start_ns = collective.start_ns,
                       .end_ns = collective.end_ns};
  bytes_ += item.sized.bytes;
  const auto later =
      std::ranges::find_if(items_.rbegin(), items_.rend() - static_cast<std::ptrdiff_t>(walked_),
                           [&](const CycleItem& other) { return other.start_ns <= item.start_ns; });
  items_.insert(later.base(), item);
  forget();
}

void CollectiveGroup::forget() {
  if (items_.size() > kMostItems) {
    items_.pop_front();
    walked_ -= walked_ > 0 ? 1 : 0;
  }
}

void CollectiveGroup::look() {
  std::vector<CycleItem> items(items_.begin(), items_.end());
  std::vector<SizedKind> sized;
  for (const CycleItem& item : items) {
    sized.push_back(item.sized);
  }
  classes_ = SizeClasses(std::move(sized));
  for (CycleItem& item : items) {
    item.token = classes_.token_of(item.sized);
  }
  rare_ = rare_tokens(items);
  std::erase_if(items, [this](const CycleItem& item) {
    return std::ranges::binary_search(rare_, item.token);
  });
  std::int64_t busy_until_ns = items.empty() ? 0 : items.front().end_ns;
  for (CycleItem& item : items) {
    item.gap_ns = std::max<std::int64_t>(0, item.start_ns - busy_until_ns);
    busy_until_ns = std::max(busy_until_ns, item.end_ns);
  }
  cycle_ = find_cycle(items);
  begun_ns_ = cycle_ ? begun_ns_ : 0;
}

bool CollectiveGroup::is_lost() const { return cycle_ && since_ > 4 * cycle_->length + 16; }

// Where a pause tells the first from the others, half a cycle is enough to have passed: some may
// be missing.
bool CollectiveGroup::begins_step(const CycleItem& item) const {
  if (item.token != cycle_->first_token) {
    return false;
  }
  const bool is_known_by_pause = cycle_->least_gap_ns > 0;
  if (begun_ns_ == 0) {
    return !is_known_by_pause || item.gap_ns >= cycle_->least_gap_ns;
  }
  return is_known_by_pause ? item.gap_ns >= cycle_->least_gap_ns && 2 * since_ >= cycle_->length
                           : since_ >= cycle_->length - cycle_->length / 8;
}

void CollectiveGroup::begin_step(std::int64_t start_ns, const OnStep& on_step) {
  if (begun_ns_ > 0 && start_ns > begun_ns_) {
    take({.start_ns = begun_ns_, .end_ns = start_ns, .collectives = since_}, on_step);
  }
  begun_ns_ = start_ns;
  since_ = 0;
}

// A pause may come inside a step by chance: what makes a whole one only with the next is one step.
void CollectiveGroup::take(const Part& part, const OnStep& on_step) {
  if (doubtful_) {
    const Part both{.start_ns = doubtful_->start_ns,
                    .end_ns = part.end_ns,
                    .collectives = doubtful_->collectives + part.collectives};
    if (doubtful_->end_ns == part.start_ns && is_whole(both)) {
      doubtful_.reset();
      tell(both, on_step);
      return;
    }
    tell_doubtful(on_step);
  }
  if (is_whole(part)) {
    tell(part, on_step);
  } else {
    doubtful_ = part;
  }
}

void CollectiveGroup::tell_doubtful(const OnStep& on_step) {
  if (doubtful_ && cycle_) {
    tell(*doubtful_, on_step);
  }
  doubtful_.reset();
}

double CollectiveGroup::cycles_in(const Part& part) const {
  return static_cast<double>(part.collectives) / static_cast<double>(cycle_->length);
}

bool CollectiveGroup::is_whole(const Part& part) const {
  const double cycles = cycles_in(part);
  return cycles >= 1 - kOffWholeCycle && std::abs(cycles - std::round(cycles)) <= kOffWholeCycle;
}

void CollectiveGroup::tell(const Part& part, const OnStep& on_step) {
  const double cycles = cycles_in(part);
  const std::int64_t steps = cycles < kLostSteps ? 1 : std::llround(cycles);
  count_ += steps;
  on_step({.start_ns = part.start_ns,
           .end_ns = part.end_ns,
           .number = count_,
           .source = record::StepSource::Collectives,
           .merged = steps});
}

void CollectiveGroup::walk(bool to_end, const OnStep& on_step) {
  const std::size_t end = items_.size() - (to_end ? 0 : std::min(kUnsettled, items_.size()));
  for (; cycle_ && walked_ < end; ++walked_) {
    CycleItem& item = items_[walked_];
    item.token = classes_.token_of(item.sized);
    if (std::ranges::binary_search(rare_, item.token)) {
      continue;
    }
    item.gap_ns = std::max<std::int64_t>(0, item.start_ns - busy_until_ns_);
    busy_until_ns_ = std::max(busy_until_ns_, item.end_ns);
    if (begins_step(item)) {
      begin_step(item.start_ns, on_step);
    }
    ++since_;
  }
  if (to_end) {
    tell_doubtful(on_step);
  }
}

}  // namespace chokepoint::capture::step
