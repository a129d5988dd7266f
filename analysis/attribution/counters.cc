#include "analysis/attribution/counters.h"

namespace chokepoint::analysis {

double grown(const NodeData& node, std::string_view name, std::string_view subject, Span span) {
  const SeriesData* series = node.find(name, subject);
  return series == nullptr ? 0 : growth(*series, span).value_or(0);
}

std::optional<double> last_level(const NodeData& node, std::string_view name,
                                 std::string_view subject) {
  const SeriesData* series = node.find(name, subject);
  return series == nullptr || series->readings.empty()
             ? std::nullopt
             : std::optional(series->readings.back().value);
}

std::optional<double> mean_over(const NodeData& node, std::string_view name,
                                std::string_view subject, Span span) {
  const SeriesData* series = node.find(name, subject);
  return series == nullptr ? std::nullopt : mean_level(*series, span);
}

}  // namespace chokepoint::analysis
