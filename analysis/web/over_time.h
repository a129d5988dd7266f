// One subject of a history over time: its series with their changes of level, and what changed on
// its hosts meanwhile. Pure; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "analysis/web/documents.h"
#include "base/history/store.h"

namespace chokepoint::analysis::web {

inline constexpr std::size_t kMaxSeries = 60;
inline constexpr std::size_t kMaxSettings = 200;
inline constexpr std::size_t kMaxPointsShown =
    800;  // of a series: about as many as a chart is wide

// Without names of history and subject. Series that changed are first, the newest change before
// others. A point after `now_ns` is left out.
SubjectOverTime over_time(std::span<const history::MeasuredSeries> all,
                          std::span<const history::StateSpan> states, std::int64_t now_ns);

}  // namespace chokepoint::analysis::web
