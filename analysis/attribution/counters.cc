#include "analysis/attribution/counters.h"

#include <algorithm>

#include "base/record/names.h"

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

std::set<std::string> job_gpus(const NodeData& node, Span span) {
  constexpr double kWorkedPercent = 10;
  std::set<std::string> gpus;
  for (const record::Event& event : node.events) {
    if (event.kind == record::kGpuProcess) {
      gpus.insert(event.subject);
    }
  }
  const bool has_nccl = std::ranges::any_of(node.collectives, [](const auto& collective) {
    return collective.source == record::CollectiveSource::Nccl;
  });
  if (gpus.empty() && has_nccl) {
    for (const SeriesData* load : node.find(record::kGpuUtilization)) {
      if (mean_level(*load, span).value_or(0) >= kWorkedPercent) {
        gpus.insert(load->row.subject);
      }
    }
  }
  return gpus;
}

std::vector<Held> levels_over(const SeriesData& level, Span span) {
  std::vector<Held> held;
  for (std::size_t i = 0; i < level.readings.size(); ++i) {
    const bool is_last = i + 1 == level.readings.size();
    const std::int64_t until_ns = is_last ? span.end_ns : level.readings[i + 1].t_ns;
    const Span part{std::max(span.start_ns, level.readings[i].t_ns),
                    std::min(span.end_ns, until_ns)};
    if (part.length_ns() > 0) {
      held.push_back({part, level.readings[i].value});
    }
  }
  return held;
}

std::optional<double> mean_over(const NodeData& node, std::string_view name,
                                std::string_view subject, Span span) {
  const SeriesData* series = node.find(name, subject);
  return series == nullptr ? std::nullopt : mean_level(*series, span);
}

}  // namespace chokepoint::analysis
