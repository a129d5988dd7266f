#include "capture/step/collective_cycle.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "capture/step/pause_groups.h"

namespace chokepoint::capture::step {
namespace {

struct SizedKind {
  std::int64_t kind = 0;
  double bytes = 0;
};

constexpr double kNextClassFactor = 1.6;  // a size so many times as large begins another class
constexpr double kClassMargin = 1.3;      // around the sizes of a class, as a factor

// Which collectives are of one class: of one kind, and of sizes without a clear step between them.
// What a capture sees of one collective's size varies if several run at a time.
class SizeClasses {
 public:
  SizeClasses() = default;

  explicit SizeClasses(std::vector<SizedKind> seen) {
    std::ranges::sort(seen, {},
                      [](const SizedKind& each) { return std::tuple(each.kind, each.bytes); });
    for (const SizedKind& each : seen) {
      const bool is_next = classes_.empty() || classes_.back().kind != each.kind ||
                           each.bytes > kNextClassFactor * classes_.back().most;
      if (is_next) {
        classes_.push_back({each.kind, each.bytes, each.bytes});
      }
      classes_.back().most = each.bytes;
    }
  }

  // The same for all of a class; what resembles nothing seen before has a token of its own.
  std::uint64_t token_of(const SizedKind& sized) const {
    const auto found = std::ranges::find_if(classes_, [&](const Class& each) {
      return each.kind == sized.kind && sized.bytes * kClassMargin >= each.least &&
             sized.bytes <= each.most * kClassMargin;
    });
    return static_cast<std::uint64_t>(found - classes_.begin());
  }

 private:
  struct Class {
    std::int64_t kind = 0;
    double least = 0;
    double most = 0;
  };
  std::vector<Class> classes_;
};

struct CycleItem {
  SizedKind sized = {};
  std::uint64_t token = 0;  // of its class
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t gap_ns = 0;  // since all earlier ones were over
};

struct Cycle {
  std::size_t length = 0;
  std::uint64_t first_token = 0;
  std::int64_t min_gap_ns = 0;  // before the first; 0: no pause marks it
  std::int64_t period_ns = 0;
};

// find_cycle(). Shares are of all collectives.
constexpr std::size_t kMaxCycleLength = 256;
constexpr std::size_t kMinCycles = 3;  // that must have been seen
constexpr std::size_t kMinCompared = 400;
constexpr double kMinEqualShare = 0.8;       // equal to the one a cycle earlier
constexpr double kMinUniformShare = 0.8;     // of one class
constexpr double kUnequalFactor = 4;         // a longer cycle leaves so many times less unequal
constexpr double kMinUnequalExcess = 0.015;  // and so much less besides
constexpr double kIrregularityFactor = 1.5;  // times what chance explains is still as regular
constexpr double kIrregularityMargin = 0.05;
constexpr double kMaxIrregularity = 20;  // of one period: a long pause must not outweigh all others
constexpr double kMinPauseFactor = 2;    // times the other pauses
// Of the usual time from one collective to the next: a pause, and how much later one begins that
// does not follow at once, which chance changes, too.
constexpr double kMinPauseShare = 0.02;
constexpr double kMinLaterShare = 0.1;
constexpr double kAtOnceQuantile = 0.1;  // of these times: such a collective follows at once
// rare_tokens().
constexpr double kMaxRareBytes = 0.02;  // of all bytes
constexpr double kMaxRareCount = 0.5;   // of the class with most bytes

template <class T>
T quantile_of(std::vector<T> values, double quantile) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(quantile * static_cast<double>(values.size()));
  std::ranges::nth_element(values, at);
  return *at;
}

template <class T>
T median_of(std::vector<T> values) {
  return quantile_of(std::move(values), 0.5);
}

// The newest items, as many as are compared for a cycle of this length.
std::span<const CycleItem> compared(std::span<const CycleItem> items, std::size_t length) {
  const std::size_t count = std::min(items.size(), std::max(8 * length, kMinCompared) + length);
  return items.last(count);
}

// The share of items that equal the one a cycle earlier.
double equal_share(std::span<const CycleItem> items, std::size_t length) {
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

// The mean relative deviation of the periods from their median.
double irregularity(const std::vector<std::int64_t>& periods) {
  const auto median = std::max(1.0, static_cast<double>(median_of(periods)));
  double sum = 0;
  for (const std::int64_t period : periods) {
    sum += std::min(kMaxIrregularity, std::abs(static_cast<double>(period) / median - 1));
  }
  return sum / static_cast<double>(periods.size());
}

struct CycleLength {
  std::size_t length = 0;
  double irregularity = 0;
  double unequal = 0;  // share of the items
};

// As regular as any longer one, if steps vary by chance: then n steps together vary by √n less.
bool is_as_regular(const CycleLength& one, const std::vector<CycleLength>& all) {
  return std::ranges::all_of(all, [&](const CycleLength& other) {
    const double longer = static_cast<double>(other.length) / static_cast<double>(one.length);
    return longer <= 1 ||
           one.irregularity <=
               kIrregularityFactor * other.irregularity * std::sqrt(longer) + kIrregularityMargin;
  });
}

// If nearly all items are of one class, the others mark the longer cycle, however irregular the
// times: such as the gather at the end of a pass through equal layers.
bool misses_others(const CycleLength& one, const std::vector<CycleLength>& all) {
  return std::ranges::any_of(all, [&](const CycleLength& other) {
    return other.length > one.length &&
           one.unequal > kUnequalFactor * other.unequal + kMinUnequalExcess;
  });
}

std::size_t groups_by(std::vector<double> pauses, double least) {
  const PauseGroups groups = pause_groups(std::move(pauses));
  return groups.pause >= least ? groups.size : 1;
}

// How many collectives there are from one long pause to the next; 1: it is not seen. Where a slow
// link holds each of them for long, the pause shows in the times from one to the next.
std::size_t grouped_by_pauses(std::span<const CycleItem> items) {
  if (items.size() < 2) {
    return 1;
  }
  std::vector<double> gaps;
  std::vector<double> times;
  for (std::size_t i = 1; i < items.size(); ++i) {
    gaps.push_back(static_cast<double>(items[i].gap_ns));
    times.push_back(static_cast<double>(items[i].start_ns - items[i - 1].start_ns));
  }
  const double usual = median_of(times);
  const double at_once = quantile_of(times, kAtOnceQuantile);
  for (double& time : times) {
    time = std::max(time - at_once, 0.0);
  }
  return std::max(groups_by(std::move(gaps), kMinPauseShare * usual),
                  groups_by(std::move(times), kMinLaterShare * usual));
}

using Counts = std::map<std::uint64_t, std::size_t>;

Counts counts_of(std::span<const CycleItem> items) {
  Counts counts;
  for (const CycleItem& item : items) {
    ++counts[item.token];
  }
  return counts;
}

bool are_uniform(std::span<const CycleItem> items) {
  const Counts counts = counts_of(items);
  const auto most = std::ranges::max_element(counts, {}, &Counts::value_type::second)->second;
  return static_cast<double>(most) >= kMinUniformShare * static_cast<double>(items.size());
}

std::uint64_t usual_token(std::span<const CycleItem> items) {
  const Counts counts = counts_of(items);
  return std::ranges::max_element(counts, {}, &Counts::value_type::second)->first;
}

std::uint64_t rarest_token(std::span<const CycleItem> items) {
  const Counts counts = counts_of(items);
  return std::ranges::min_element(counts, {}, &Counts::value_type::second)->first;
}

// One item in `length` begins a cycle: those after the longest pauses, if these are long enough.
Cycle describe_cycle(std::span<const CycleItem> items, std::size_t length) {
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
  if (length > 1 && pause > kMinPauseFactor * other) {
    cycle.first_token = usual_token(std::span(sorted).first(firsts));
    cycle.min_gap_ns = std::llround(std::sqrt(pause * std::max(other, pause / 16)));
  }
  return cycle;
}

// Sorted. Rare and small items, such as a loss that is averaged now and then, are no part of a
// cycle.
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
    if (sum.bytes < kMaxRareBytes * bytes && sum.count < kMaxRareCount * most->second.count) {
      rare.push_back(token);
    }
  }
  return rare;
}

// The shortest cycle: the least number of items after which kinds and sizes recur, as regularly in
// time as for any other length, and no part of what lies between two long pauses. Time matters:
// buckets of one size differ from steps by the pauses between them. `items` are in order of time,
// without rare ones.
std::optional<Cycle> find_cycle(std::span<const CycleItem> items) {
  std::vector<CycleLength> found;
  for (std::size_t length = 1; length <= kMaxCycleLength && kMinCycles * length < items.size();
       ++length) {
    const std::span<const CycleItem> newest = compared(items, length);
    if (equal_share(newest, length) >= kMinEqualShare) {
      found.push_back(
          {length, irregularity(periods(newest, length)), 1 - equal_share(newest, length)});
    }
  }
  const bool is_uniform = !items.empty() && are_uniform(items);
  const std::size_t grouped = grouped_by_pauses(items);
  const bool is_grouped = std::ranges::count(found, grouped, &CycleLength::length) > 0;
  const auto shortest = std::ranges::find_if(found, [&](const CycleLength& each) {
    const bool is_part = is_grouped && each.length < grouped && grouped % each.length == 0;
    return !is_part && is_as_regular(each, found) && !(is_uniform && misses_others(each, found));
  });
  if (shortest == found.end()) {
    return std::nullopt;
  }
  return describe_cycle(compared(items, shortest->length), shortest->length);
}

// CollectiveGroup.
constexpr std::size_t kMaxItems = 1'024;
constexpr std::size_t kUnsettledItems = 4;   // the newest: earlier ones may still come
constexpr double kMaxOffWholeCycle = 0.125;  // of a cycle's collectives, missing or in excess
constexpr double kMaxCyclesOfOneStep = 1.6;  // more collectives than that are several steps

// The collectives of one rank in one process group, and the steps that their cycle makes.
class CollectiveGroup {
 public:
  // In the order in which they began, give or take kUnsettledItems.
  void add(const record::Collective& collective) {
    const CycleItem item{.sized = {.kind = static_cast<std::int64_t>(collective.kind),
                                   .bytes = static_cast<double>(collective.bytes.value_or(0))},
                         .start_ns = collective.start_ns,
                         .end_ns = collective.end_ns};
    bytes_ += item.sized.bytes;
    const auto later = std::ranges::find_if(
        items_.rbegin(), items_.rend() - static_cast<std::ptrdiff_t>(walked_),
        [&](const CycleItem& other) { return other.start_ns <= item.start_ns; });
    items_.insert(later.base(), item);
    forget();
  }

  // Searches for the cycle again.
  void search() {
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

  // Reports steps that are over: up to the unsettled items; `to_end`: up to the last.
  void walk(bool to_end, const OnStep& on_step) {
    const std::size_t end = items_.size() - (to_end ? 0 : std::min(kUnsettledItems, items_.size()));
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
      report_doubtful(on_step);
    }
  }

  bool has_cycle() const { return cycle_.has_value(); }
  std::int64_t period_ns() const { return cycle_ ? cycle_->period_ns : 0; }
  double bytes() const { return bytes_; }
  // Far more collectives than a cycle's have come since a step last began.
  bool is_lost() const { return cycle_ && since_ > 4 * cycle_->length + 16; }

 private:
  struct Part {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::size_t collectives = 0;
  };

  // If a pause marks the first, half a cycle must have passed: collectives may be missing.
  bool begins_step(const CycleItem& item) const {
    if (item.token != cycle_->first_token) {
      return false;
    }
    const bool is_known_by_pause = cycle_->min_gap_ns > 0;
    if (begun_ns_ == 0) {
      return !is_known_by_pause || item.gap_ns >= cycle_->min_gap_ns;
    }
    return is_known_by_pause ? item.gap_ns >= cycle_->min_gap_ns && 2 * since_ >= cycle_->length
                             : since_ >= cycle_->length - cycle_->length / 8;
  }

  void begin_step(std::int64_t start_ns, const OnStep& on_step) {
    if (begun_ns_ > 0 && start_ns > begun_ns_) {
      take({.start_ns = begun_ns_, .end_ns = start_ns, .collectives = since_}, on_step);
    }
    begun_ns_ = start_ns;
    since_ = 0;
  }

  // A pause may come inside a step by chance: two parts that only together make a whole step are
  // one.
  void take(const Part& part, const OnStep& on_step) {
    if (doubtful_) {
      const Part both{.start_ns = doubtful_->start_ns,
                      .end_ns = part.end_ns,
                      .collectives = doubtful_->collectives + part.collectives};
      if (doubtful_->end_ns == part.start_ns && is_whole(both)) {
        doubtful_.reset();
        report(both, on_step);
        return;
      }
      report_doubtful(on_step);
    }
    if (is_whole(part)) {
      report(part, on_step);
    } else {
      doubtful_ = part;
    }
  }

  void report(const Part& part, const OnStep& on_step) {
    const double cycles = cycles_in(part);
    const std::int64_t steps = cycles < kMaxCyclesOfOneStep ? 1 : std::llround(cycles);
    count_ += steps;
    on_step({.start_ns = part.start_ns,
             .end_ns = part.end_ns,
             .number = count_,
             .source = record::StepSource::Collectives,
             .merged = steps});
  }

  void report_doubtful(const OnStep& on_step) {
    if (doubtful_ && cycle_) {
      report(*doubtful_, on_step);
    }
    doubtful_.reset();
  }

  double cycles_in(const Part& part) const {
    return static_cast<double>(part.collectives) / static_cast<double>(cycle_->length);
  }

  bool is_whole(const Part& part) const {
    const double cycles = cycles_in(part);
    return cycles >= 1 - kMaxOffWholeCycle &&
           std::abs(cycles - std::round(cycles)) <= kMaxOffWholeCycle;
  }

  void forget() {
    if (items_.size() > kMaxItems) {
      items_.pop_front();
      walked_ -= walked_ > 0 ? 1 : 0;
    }
  }

  std::deque<CycleItem> items_;
  std::size_t walked_ = 0;  // of items_
  double bytes_ = 0;
  std::optional<Cycle> cycle_;
  SizeClasses classes_;
  std::vector<std::uint64_t> rare_;
  std::int64_t busy_until_ns_ = 0;
  std::int64_t begun_ns_ = 0;     // begin of the current step; 0: none
  std::size_t since_ = 0;         // collectives in the current step
  std::optional<Part> doubtful_;  // not a whole number of cycles: waits for the next part
  std::int64_t count_ = 0;
};

// RankCollectives. The first search comes after kFirstSearch collectives, or after kFirstSearchNs
// if there are kMinFirstSearch of them.
constexpr std::size_t kFirstSearch = 400;
constexpr std::size_t kMinFirstSearch = 48;
constexpr std::int64_t kFirstSearchNs = 60'000'000'000;
constexpr std::size_t kSearchInterval = 256;
constexpr std::size_t kMinLostInterval = 32;  // without a cycle: a quarter of those seen so far
constexpr std::size_t kMaxLostInterval = 2'048;
constexpr std::size_t kMaxFollowedRanks = 64;
constexpr std::size_t kMaxGroups = 64;
constexpr double kMinLeaderShare = 0.1;  // of the bytes

struct RankCollectives {
  std::map<std::int64_t, CollectiveGroup> groups = {};
  CollectiveGroup* leader = nullptr;
  std::size_t count = 0;
  std::size_t searched = 0;  // at that count
  std::int64_t first_ns = 0;

  bool is_due(std::int64_t now_ns) const {
    if (searched == 0) {
      return count >= kFirstSearch ||
             (count >= kMinFirstSearch && now_ns - first_ns >= kFirstSearchNs);
    }
    const bool is_lost = leader == nullptr || leader->is_lost();
    return count - searched >= (is_lost
                                    ? std::clamp(searched / 4, kMinLostInterval, kMaxLostInterval)
                                    : kSearchInterval);
  }

  // `leaving`: the groups that are seen to leave the host. Of a rank that has such groups others do
  // not count: layers inside a host exchange many times what is reduced between hosts once a step.
  void search(const std::set<std::int64_t>& leaving) {
    searched = count;
    const bool is_any_leaving =
        std::ranges::any_of(groups, [&](const auto& each) { return leaving.contains(each.first); });
    const auto is_left_out = [&](std::int64_t number) {
      return is_any_leaving && !leaving.contains(number);
    };
    double bytes = 0;
    for (auto& [number, group] : groups) {
      group.search();
      bytes += is_left_out(number) ? 0 : group.bytes();
    }
    leader = nullptr;
    for (auto& [number, group] : groups) {
      const bool counts =
          !is_left_out(number) && group.has_cycle() && group.bytes() >= kMinLeaderShare * bytes;
      if (counts && (leader == nullptr || group.period_ns() > leader->period_ns())) {
        leader = &group;
      }
    }
  }
};

}  // namespace

struct CollectiveCycle::State {
  std::map<int, RankCollectives> ranks = {};  // -1: not known
  std::set<std::int64_t> leaving = {};  // groups, of whose data some rank here saw the network

  static void walk(int rank, RankCollectives& part, bool to_end, const OnStep& on_step) {
    if (part.leader != nullptr) {
      part.leader->walk(to_end, [&](Step step) {
        if (rank >= 0) {
          step.rank = rank;
        }
        on_step(step);
      });
    }
  }
};

CollectiveCycle::CollectiveCycle() : state_(std::make_unique<State>()) {}
CollectiveCycle::~CollectiveCycle() = default;

void CollectiveCycle::take(const record::Collective& collective, const OnStep& on_step) {
  const auto rank = static_cast<int>(collective.rank.value_or(-1));
  if (!state_->ranks.contains(rank) && state_->ranks.size() >= kMaxFollowedRanks) {
    return;
  }
  RankCollectives& part = state_->ranks[rank];
  const std::int64_t number = collective.communicator.value_or(-1);
  const bool is_leaving =
      collective.source != record::CollectiveSource::Nccl || collective.last_data_ns.known();
  if (is_leaving && state_->leaving.size() < kMaxFollowedRanks * kMaxGroups) {
    state_->leaving.insert(number);
  }
  if (!part.groups.contains(number) && part.groups.size() >= kMaxGroups) {
    return;
  }
  part.groups[number].add(collective);
  part.first_ns = part.count == 0 ? collective.start_ns : part.first_ns;
  ++part.count;
  if (part.is_due(collective.start_ns)) {
    part.search(state_->leaving);
  }
  State::walk(rank, part, false, on_step);
}

void CollectiveCycle::finish(const OnStep& on_step) {
  for (auto& [rank, part] : state_->ranks) {
    if (part.searched == 0) {
      part.search(state_->leaving);
    }
    State::walk(rank, part, true, on_step);
  }
}

}  // namespace chokepoint::capture::step
