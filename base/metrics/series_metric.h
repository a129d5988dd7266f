// A series of the record as a sample for Prometheus: its name, unit and label are those of its row
// in base/record/series.def. A function without state; any thread.
#pragma once

#include <string>

#include "base/metrics/metric_text.h"
#include "base/record/series_table.h"

namespace chokepoint::metrics {

// `value`: in the row's own unit. Adds nothing where the row is no metric. `labels` stand before
// that of the subject.
void add_series(MetricText& text, const record::SeriesDescription& row, const std::string& subject,
                double value, Labels labels = {});

}  // namespace chokepoint::metrics
