// Is a measurement usual? It is compared with the level that earlier measurements of the same had,
// by how far a single one of them lies off it. Pure; any thread.
//
//   earlier ──▶ change_points ─┬─ the level changed lately: since when, and how much was it before?
//   this one ──▶               └─ it did not: does this one lie further off than chance explains?
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/history/store.h"

namespace chokepoint::trends {

struct StandingRules {
  std::size_t min_earlier = 5;  // fewer cannot say what is usual
  double max_p = 1e-3;
  double min_relative = 0.03;
  std::int64_t lately_ns = std::int64_t{30} * 24 * 3600 * 1'000'000'000;
};

// The first measurement of a level that differs from what was usual.
struct NewLevel {
  std::int64_t wall_ns = 0;
  std::string source = {};
  std::size_t count = 0;  // measurements since, with it and the one at hand
};

struct Standing {
  history::Series series = {};
  double value = 0;
  double usual = 0;                     // the median of that level
  std::size_t earlier = 0;              // measurements of it
  std::optional<double> relative = {};  // value / usual - 1; nothing where that was 0
  double p = 1;                         // that a usual one looks like this; 1 with too few
  bool is_unusual = false;
  bool is_worse = false;  // in an unusual one, also where neither more nor less is better
  std::optional<NewLevel> since = {};
};

// Nothing where there is no earlier measurement. `earlier` may have the one at hand already, and
// later ones.
std::optional<Standing> standing_of(const history::MeasuredSeries& earlier,
                                    const history::Measured& now, const StandingRules& rules = {});

// Of each row that has earlier ones in `all`, in the order of the rows. p is corrected for their
// number: the chance that any usual one is called unusual is rules.max_p.
std::vector<Standing> standings_of(std::span<const history::Row> rows,
                                   std::span<const history::MeasuredSeries> all,
                                   const StandingRules& rules = {});

}  // namespace chokepoint::trends
