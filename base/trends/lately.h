// What changed lately in a history: level changes of its series, joined where one cause has
// several, with the settings that changed meanwhile on their hosts. Pure; any thread.
//
//   series ─▶ change_points ─▶ changes ─┬▶ joined ─▶ findings, the worst first
//   states ─▶ settings that changed ────┴▶ which_fact ─▶ what changed just before
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/history/store.h"
#include "base/trends/change_points.h"
#include "base/trends/joined.h"
#include "base/trends/which_fact.h"

namespace chokepoint::trends {

// Of one series.
struct SeriesChange {
  history::Series series = {};
  LevelChange change = {};
  std::string source_before = {};  // of the last good point, and of the first bad one
  std::string source_after = {};
  bool is_worse = true;  // also where neither more nor less is better
};

struct HistoryFinding {
  std::string sentence = {};               // "6 of 6 paths from gpu3, none elsewhere"
  std::vector<SeriesChange> changes = {};  // of one cause, the largest first
  TimeBetween time = {};                   // what all have in common
  // Where settings changed meanwhile; where none did, all hosts that were looked at: "a, b".
  std::string host = {};
  std::vector<FactLink> settings = {};  // that changed there meanwhile, the likeliest first
  bool is_worse = true;
};

// Those that may have happened after that moment. A point of a clock that runs ahead, after
// `now_ns`, is left out.
std::vector<HistoryFinding> changed_since(std::span<const history::MeasuredSeries> all,
                                          std::span<const history::StateSpan> states,
                                          std::int64_t since_ns, std::int64_t now_ns);

// What of a series has to be read to see its changes after a moment: the level before them. A
// tracker of changes compares 256 points at most; a few more hold what it refines.
inline history::Before level_before(std::int64_t since_ns) {
  constexpr std::chrono::nanoseconds kDays = std::chrono::hours(24 * 90);
  constexpr std::int64_t kMost = 300;
  return {.since_ns = since_ns - kDays.count(), .most = kMost};
}

// Of two values that differ. True also where neither more nor less is better.
bool is_worse(const history::Series& series, double now, double before);

// A series for change_points.h: its measurements up to that moment.
std::vector<HistoryPoint> points_of(const history::MeasuredSeries& series, std::int64_t until_ns);

// Settings that had one value and then another; what was not read for a while is no change.
std::vector<SettingChange> setting_changes(std::span<const history::StateSpan> states);

}  // namespace chokepoint::trends
