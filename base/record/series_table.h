// What the record's series mean. base/record/series.def holds a row for each, and from it follow
// the constants of base/record/names.h, the units that samplers register, the tracks of the
// report's page and the metrics for Prometheus. Constants.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/record/entities.h"

namespace chokepoint::record {

// How the page makes a track of a series' rows.
enum class TrackValue : std::uint8_t {
  PerSecond,
  BytesToMbps,       // the growth of a counter of bytes
  BytesToMegabytes,  // likewise, in MB a second
  PercentOfTime,     // the growth of a counter of ns
  Level,
  LevelBytesToMbps,  // a level of bytes a second
};

// Of which subjects: a track for each, that of the subject "all", their sum, or the largest of
// those that are not "all".
enum class TrackOf : std::uint8_t { Each, All, Sum, BusiestCore };

struct SeriesTrack {
  std::string_view group = {};  // empty: the page does not draw it
  std::string_view label = {};
  std::string_view unit = {};
  TrackValue value = TrackValue::Level;
  TrackOf of = TrackOf::Each;
  bool only_if_any = false;  // not drawn while it is 0
};

// Its name for Prometheus, behind "chokepoint_".
struct SeriesMetric {
  std::string_view name = {};   // empty: it is none
  std::string_view label = {};  // that holds the subject; empty: the subject is empty, too
};

struct SeriesDescription {
  std::string_view name = {};  // of a family: what its series' names begin with
  SeriesKind kind = SeriesKind::Counter;
  std::string_view unit = {};
  std::string_view text = {};
  SeriesTrack track = {};
  SeriesMetric metric = {};
  std::string_view later = {};
  bool is_family = false;
};

std::span<const SeriesDescription> series_table();

// The row of that name, else of the family that it belongs to, else nullptr.
const SeriesDescription* describe_series(std::string_view name);

}  // namespace chokepoint::record
