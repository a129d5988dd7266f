#include "analysis/report/known_span.h"

#include <algorithm>
#include <limits>

namespace chokepoint::analysis {

Span known_span(const NodeData& node) {
  constexpr std::int64_t kEndless = std::numeric_limits<std::int64_t>::max() / 2;
  if (node.span.end_ns < kEndless) {
    return node.span;
  }
  Span span{kEndless, 0};
  for (const record::Collective& each : node.collectives) {
    span = {std::min(span.start_ns, each.start_ns), std::max(span.end_ns, each.end_ns)};
  }
  for (const record::Step& step : node.steps) {
    span = {std::min(span.start_ns, step.start_ns), std::max(span.end_ns, step.end_ns)};
  }
  for (const SeriesData& series : node.series) {
    if (!series.readings.empty()) {
      span = {std::min(span.start_ns, series.readings.front().t_ns),
              std::max(span.end_ns, series.readings.back().t_ns)};
    }
  }
  return span.length_ns() > 0 ? span : Span{};
}

}  // namespace chokepoint::analysis
