#include "capture/step/cycle_search.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace chokepoint::capture::step {
namespace {

constexpr std::size_t kMostLength = 256;
constexpr std::size_t kCycleTimes = 3;  // a cycle has to be seen
constexpr std::size_t kLeastCompared = 400;
constexpr double kLeastAlike = 0.8;
constexpr double kOneSort = 0.8;  // of all
constexpr double kTimesMoreAlike = 4;
constexpr double kMissedShare = 0.015;  // of all, whose kind or size is not what it was
constexpr double kAsRegular = 1.5;      // times, as chance has it
constexpr double kExact = 0.05;
constexpr double kRareBytes = 0.02;
constexpr double kRareCount = 0.5;  // of what carries most bytes
constexpr double kPause = 2;        // times the other pauses
constexpr double kMostOff = 20;

template <class T>
T median_of(std::vector<T> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// The newest, so many for a cycle of this length.
std::span<const CycleItem> compared(std::span<const CycleItem> items, std::size_t length) {
  const std::size_t count = std::min(items.size(), std::max(8 * length, kLeastCompared) + length);
  return items.last(count);
}

double alike(std::span<const CycleItem> items, std::size_t length) {
  std::size_t same = 0;
  for (std::size_t i = length; i < items.size(); ++i) {
    same += items[i].token == items[i - length].token ? 1 : 0;
  }
  return static_cast<double>(same) / static_cast<double>(items.size() - length);
}

std::vector<std::int64_t> periods(std::span<const CycleItem> items, std::size_t length) {
  std::vector<std::int64_t> result;
  for (std::size_t i = length; i < items.size(); ++i) {
    result.push_back(items[i].start_ns - items[i - length].start_ns);
  }
  return result;
}

// How far periods are off their median, on average. One pause, however long, does not outweigh all.
double irregularity(const std::vector<std::int64_t>& periods) {
  const auto median = std::max(1.0, static_cast<double>(median_of(periods)));
  double sum = 0;
  for (const std::int64_t period : periods) {
    sum += std::min(kMostOff, std::abs(static_cast<double>(period) / median - 1));
  }
  return sum / static_cast<double>(periods.size());
}

struct Regular {
  std::size_t length = 0;
  double off = 0;
  double unlike = 0;
};

// As any longer one, if steps vary by chance: then several together vary by their number's root
// less.
bool is_as_regular(const Regular& one, const std::vector<Regular>& all) {
  return std::ranges::all_of(all, [&](const Regular& other) {
    const double longer = static_cast<double>(other.length) / static_cast<double>(one.length);
    return longer <= 1 || one.off <= kAsRegular * other.off * std::sqrt(longer) + kExact;
  });
}

// Where nearly all are of one sort, what is not tells the longer cycle, however irregular the
// times: the gathering at the end of a pass through equal layers.
bool leaves_out(const Regular& one, const std::vector<Regular>& all) {
  return std::ranges::any_of(all, [&](const Regular& other) {
    return other.length > one.length && one.unlike > kTimesMoreAlike * other.unlike + kMissedShare;
  });
}

using Counts = std::map<std::uint64_t, std::size_t>;

Counts counts_of(std::span<const CycleItem> items) {
  Counts counts;
  for (const CycleItem& item : items) {
    ++counts[item.token];
  }
  return counts;
}

bool are_of_one_sort(std::span<const CycleItem> items) {
  const Counts counts = counts_of(items);
  const auto most = std::ranges::max_element(counts, {}, &Counts::value_type::second)->second;
  return static_cast<double>(most) >= kOneSort * static_cast<double>(items.size());
}

std::uint64_t usual_token(std::span<const CycleItem> items) {
  const Counts counts = counts_of(items);
  return std::ranges::max_element(counts, {}, &Counts::value_type::second)->first;
}

std::uint64_t rarest_token(std::span<const CycleItem> items) {
  const Counts counts = counts_of(items);
  return std::ranges::min_element(counts, {}, &Counts::value_type::second)->first;
}

// One in `length` begins a cycle: those after the longest pauses, if these stand out.
Cycle described(std::span<const CycleItem> items, std::size_t length) {
  Cycle cycle{.length = length,
              .first_token = rarest_token(items.last(length)),
              .period_ns = median_of(periods(items, length))};
  std::vector<CycleItem> sorted(items.begin(), items.end());
  std::ranges::sort(sorted, std::ranges::greater(), &CycleItem::gap_ns);
  const std::size_t firsts = sorted.size() / length;
  const std::size_t middle = firsts / 2;
  const auto pause = static_cast<double>(sorted[middle].gap_ns);
  const std::size_t others = sorted.size() - firsts;
  const std::size_t among_others = std::min(firsts + others / 8, sorted.size() - 1);
  const auto other = static_cast<double>(sorted[among_others].gap_ns);
  if (length > 1 && pause > kPause * other) {
    cycle.first_token = usual_token(std::span(sorted).first(firsts));
    cycle.least_gap_ns = std::llround(std::sqrt(pause * std::max(other, pause / 16)));
  }
  return cycle;
}

}  // namespace

std::vector<std::uint64_t> rare_tokens(std::span<const CycleItem> items) {
  struct Sum {
    double count = 0;
    double bytes = 0;
  };
  std::map<std::uint64_t, Sum> sums;
  double bytes = 0;
  for (const CycleItem& item : items) {
    ++sums[item.token].count;
    sums[item.token].bytes += item.sized.bytes;
    bytes += item.sized.bytes;
  }
  const auto most =
      std::ranges::max_element(sums, {}, [](const auto& entry) { return entry.second.bytes; });
  std::vector<std::uint64_t> rare;
  for (const auto& [token, sum] : sums) {
    if (sum.bytes < kRareBytes * bytes && sum.count < kRareCount * most->second.count) {
      rare.push_back(token);
    }
  }
  return rare;
}

std::optional<Cycle> find_cycle(std::span<const CycleItem> items) {
  std::vector<Regular> found;
  for (std::size_t length = 1; length <= kMostLength && kCycleTimes * length < items.size();
       ++length) {
    const std::span<const CycleItem> newest = compared(items, length);
    if (alike(newest, length) >= kLeastAlike) {
      found.push_back({length, irregularity(periods(newest, length)), 1 - alike(newest, length)});
    }
  }
  const bool is_one_sort = !items.empty() && are_of_one_sort(items);
  const auto shortest = std::ranges::find_if(found, [&](const Regular& each) {
    return is_as_regular(each, found) && !(is_one_sort && leaves_out(each, found));
  });
  if (shortest == found.end()) {
    return std::nullopt;
  }
  return described(compared(items, shortest->length), shortest->length);
}

}  // namespace chokepoint::capture::step
