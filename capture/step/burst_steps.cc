#include "capture/step/burst_steps.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "capture/step/is_periodic.h"

namespace chokepoint::capture::step {
namespace {

constexpr std::size_t kMostStretches = 4'096;
constexpr std::size_t kLookedAt = 256;
constexpr double kLongestByBytes = 4;  // where nothing but one step's bytes passed meanwhile
constexpr double kAlike = 0.25;        // off the median
constexpr double kMostUnlike = 0.2;    // of the stretches
constexpr double kMostPauses = 0.12;
constexpr double kOffWholeStep = 0.3;  // of a step's bytes, that may be missing or too many
constexpr std::size_t kMostInGroup = 4;
constexpr double kCarried = 0.8;  // of what was missing or too many: the median may be a little off

template <class Of>
std::vector<double> values(const std::deque<Stretch>& stretches, Of of) {
  std::vector<double> result;
  const std::size_t from = stretches.size() - std::min(stretches.size(), kLookedAt);
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

void BurstSteps::add(const Stretch& stretch) {
  stretches_.push_back(stretch);
  forget();
}

void BurstSteps::clear() {
  stretches_.clear();
  carried_ = 0;
  told_ = 0;
}

void BurstSteps::forget() {
  while (stretches_.size() > kMostStretches || told_ > kLookedAt) {
    stretches_.pop_front();
    told_ -= told_ > 0 ? 1 : 0;
  }
}

void BurstSteps::tell(double period_ns, const OnSteps& on_steps) {
  if (told_ == stretches_.size() || !are_steps(period_ns)) {
    return;
  }
  const std::optional<double> usual = usual_bytes();
  while (told_ < stretches_.size()) {
    const std::optional<Group> group =
        usual ? next_by_bytes(period_ns, *usual) : next_by_length(period_ns);
    if (!group) {
      break;
    }
    const Stretch& last = stretches_[told_ + group->stretches - 1];
    if (group->steps > 0) {
      on_steps(stretches_[told_].start_ns, last.end_ns, group->steps);
    }
    told_ += group->stretches;
    carried_ = group->carried;
  }
  forget();
}

bool BurstSteps::are_steps(double period_ns) const {
  const std::vector<double> lengths = values(stretches_, length_of);
  return share_above(lengths, kLongestStep * period_ns) <= kMostPauses && !is_periodic(lengths) &&
         !is_periodic(values(stretches_, bytes_of));
}

// Nothing where steps have unlike bytes.
std::optional<double> BurstSteps::usual_bytes() const {
  std::vector<double> each = values(stretches_, bytes_of);
  std::ranges::sort(each);
  const double usual = each[each.size() / 2];
  const auto alike = std::ranges::count_if(
      each, [&](double bytes) { return std::abs(bytes / usual - 1) <= kAlike; });
  const double unlike = 1 - static_cast<double>(alike) / static_cast<double>(each.size());
  return usual > 0 && unlike <= kMostUnlike ? std::optional(usual) : std::nullopt;
}

// As few as make whole steps; nothing where more have to come for it. What was missing before is
// not forgotten: borders that slip by a little each time would make a step too many of several.
std::optional<BurstSteps::Group> BurstSteps::next_by_bytes(double period_ns, double usual) const {
  double bytes = carried_ * usual;
  for (std::size_t count = 1; count <= kMostInGroup; ++count) {
    if (told_ + count > stretches_.size()) {
      return std::nullopt;
    }
    const Stretch& last = stretches_[told_ + count - 1];
    bytes += last.bytes;
    const double steps = std::round(bytes / usual);
    const auto took_ns = static_cast<double>(last.end_ns - stretches_[told_].start_ns);
    if (took_ns > kLongestByBytes * std::max(steps, 1.0) * period_ns) {
      return Group{.stretches = count};
    }
    if (steps >= 1 && std::abs(bytes / usual - steps) <= kOffWholeStep) {
      return Group{.stretches = count,
                   .steps = std::llround(steps),
                   .carried = kCarried * (bytes / usual - steps)};
    }
  }
  return Group{.stretches = 1};
}

BurstSteps::Group BurstSteps::next_by_length(double period_ns) const {
  const double length = length_of(stretches_[told_]) / period_ns;
  return {.stretches = 1, .steps = length >= kShortestStep && length <= kLongestStep ? 1 : 0};
}

}  // namespace chokepoint::capture::step
