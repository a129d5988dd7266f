#include "base/metrics/series_metric.h"

#include <utility>

#include "base/math/units.h"

namespace chokepoint::metrics {
namespace {

constexpr double kUsPerSecond = 1e6;

// Prometheus expects seconds.
double per_base_unit(std::string_view unit) {
  return unit == "ns" ? math::kNsPerSecond : unit == "us" ? kUsPerSecond : 1;
}

}  // namespace

void add_series(MetricText& text, const record::SeriesDescription& row, const std::string& subject,
                double value, Labels labels) {
  if (row.metric.name.empty()) {
    return;
  }
  if (!row.metric.label.empty()) {
    labels.emplace_back(row.metric.label, subject);
  }
  text.counter(std::string(row.metric.name), std::string(row.text) + ".",
               value / per_base_unit(row.unit), labels);
}

}  // namespace chokepoint::metrics
