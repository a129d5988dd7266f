// Since when is something slower? Level changes in one series of points, found as the points come:
//
//   add(point) -> [ window: what came since the last change, 256 points at most ]
//                    | off the rest at all?                       (quick_look.h)
//                    | the split with the largest energy distance (energy_split.h)
//                    | two levels and the noise around them       (split_fit.h)
//                    | significant, larger than the noise, and no drift?
//                    -> a change, whose place is refined while its first 24 points come
//
// A point is looked at once, and an answer depends on the points so far alone: find_changes() gives
// what a tracker gives that was handed the same points. docs/internals/history.md has the rules'
// origin and what they were measured to find. Values; one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/math/significance.h"
#include "base/sys/error.h"
#include "base/trends/quick_look.h"

namespace chokepoint::trends {

// What one run or probe left: a figure, and of how many values it was made.
struct HistoryPoint {
  std::int64_t t_ns = 0;
  double value = 0;
  double spread = 0;        // standard deviation of these values; 0: unknown
  std::uint64_t count = 0;  // 0: unknown
};

// Defaults were tuned by simulation, for one false alarm in a thousand months of hourly points.
struct ChangeRules {
  std::size_t min_points = 5;  // on each side
  std::size_t max_after = 40;  // found by then, or not at all: what takes longer may be a drift
  std::size_t window = 256;    // points that one look takes in
  double max_p = 1e-10;        // of a look at a full window, all splits together
  double max_p_of_few = 1e-6;  // of one at no more than so many points: there are few such looks
  std::size_t few = 30;
  double min_relative = 0.01;  // of the level before
  // Where points come several a day, and no earlier day shows the level at the same hours.
  double min_relative_first_day = 0.2;
  double min_deviations = 1.2;  // of one point from its level
};

struct SeriesLevel {
  double median = 0;
  math::Interval interval;  // of 95 %
  std::size_t points = 0;
};

struct LevelChange {
  std::size_t index = 0;      // of the first point at the new level, most likely
  std::size_t last_good = 0;  // the change lies after this point,
  std::size_t first_bad = 0;  // and not after this one, with 95 % certainty
  std::int64_t last_good_ns = 0;
  std::int64_t first_bad_ns = 0;
  SeriesLevel before;
  SeriesLevel after;
  std::optional<double> relative;  // after / before - 1; nothing where the level was 0
  double p = 1;                    // that equal levels look so different at some split
  std::size_t certain_at = 0;      // the point with which it was found
};

struct SeriesChanges {
  std::vector<LevelChange> changes;   // in order
  std::vector<std::size_t> outliers;  // points, or a few in a row, that changed no level
};

class ChangeTracker {
 public:
  explicit ChangeTracker(const ChangeRules& rules = {}) : rules_(rules) {}

  // Refuses what is not finite, and a time before the last one; the state is then as it was.
  Result<> add(const HistoryPoint& point);

  const SeriesChanges& found() const { return found_; }

 private:
  struct Window;
  struct Candidate;

  void drop_old();
  void refine();
  void look();
  void mark_outlier();
  Window window(std::size_t from) const;
  std::optional<Candidate> judge(const Window& window, std::size_t k) const;
  std::optional<Candidate> best_candidate(const Window& window) const;
  LevelChange change_at(const Window& window, const Candidate& candidate) const;
  bool has_both_levels(const Window& window, std::size_t k) const;
  void begin_level(const LevelChange& change);
  void set_level_from(std::size_t from);

  ChangeRules rules_;
  SeriesChanges found_;
  std::vector<HistoryPoint> points_;
  std::size_t first_ = 0;
  std::size_t level_from_ = 0;  // where the present level begins
  QuickLook quick_;             // from there on
  std::optional<std::size_t>
      earlier_;  // where the level before began; only while its end is refined
};

Result<SeriesChanges> find_changes(std::span<const HistoryPoint> points,
                                   const ChangeRules& rules = {});

}  // namespace chokepoint::trends
