#include "base/trends/finding_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/documents/main_figures.h"
#include "base/math/quantity.h"
#include "base/math/units.h"
#include "base/sys/clock.h"

namespace chokepoint::trends {
namespace {

std::string change_text(const SeriesChange& change) {
  const LevelChange& level = change.change;
  const std::string& unit = change.series.unit;
  const std::string percent =
      level.relative ? fmt::format(" ({:+.0f} %)", math::kPercent * *level.relative) : "";
  return fmt::format(
      "{}: {} {} → {}{} since {}", history::text_of(change.series.subject),
      metric_name(change.series.metric), math::quantity_text(level.before.median, unit),
      math::quantity_text(level.after.median, unit), percent, minute_text(level.first_bad_ns));
}

std::string settings_text(const HistoryFinding& finding) {
  constexpr std::size_t kMostNamed = 3;
  if (finding.settings.empty()) {
    return finding.host.empty()
               ? ""
               : fmt::format("no setting that is known changed on {} meanwhile", finding.host);
  }
  std::string text;
  for (std::size_t at = 0; at < std::min(kMostNamed, finding.settings.size()); ++at) {
    const FactLink& link = finding.settings[at];
    text += fmt::format("{}{} {} → {}", text.empty() ? "" : ", ", link.fact, link.old_value,
                        link.new_value);
  }
  const std::size_t more = finding.settings.size() - std::min(kMostNamed, finding.settings.size());
  return fmt::format("on {} meanwhile: {}{}", finding.host, text,
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

// "some_figure_mbps" is "some figure".
std::string without_unit(std::string metric) {
  static constexpr std::array<std::string_view, 6> kUnits{"_mbps", "_ms",    "_us",
                                                          "_s",    "_bytes", "_percent"};
  const auto* const unit =
      std::ranges::find_if(kUnits, [&](std::string_view each) { return metric.ends_with(each); });
  if (unit != kUnits.end()) {
    metric.resize(metric.size() - unit->size());
  }
  std::ranges::replace(metric, '_', ' ');
  return metric;
}

}  // namespace

std::string metric_name(const std::string& metric) {
  // Of rows that are of no test's document.
  constexpr std::array<std::pair<std::string_view, const char*>, 11> kOthers{
      {{"step_ms", "time of a step"},
       {"p99_step_ms", "99th percentile of the steps"},
       {"lost_ms", "time lost in a step"},
       {"computing_ms", "computing in a step"},
       {"alone_mbps", "throughput of a single test"},
       {"retransmitted_percent", "retransmissions"},
       {"loss_percent", "loss"},
       {"path_mtu_bytes", "path MTU"},
       {"rdma_mbps", "RDMA throughput"},
       {"checks_critical", "critical checks"},
       {"checks_warning", "checks with a warning"}}};
  const auto* const of_test = std::ranges::find_if(
      documents::kMainFigures,
      [&](const documents::MainFigure& figure) { return metric == figure.key; });
  if (of_test != documents::kMainFigures.end()) {
    return of_test->name;
  }
  const auto* const other =
      std::ranges::find(kOthers, metric, &std::pair<std::string_view, const char*>::first);
  return other == kOthers.end() ? without_unit(metric) : other->second;
}

std::string minute_text(std::int64_t wall_ns) {
  constexpr std::size_t kMinutes = 16;
  std::string text = sys::rfc3339(wall_ns).substr(0, kMinutes);
  std::ranges::replace(text, 'T', ' ');
  return text;
}

std::string headline_of(const HistoryFinding& finding) {
  const SeriesChange& first = finding.changes.front();
  std::string text = change_text(first);
  if (std::ranges::any_of(finding.changes, [&](const SeriesChange& each) {
        return each.series.subject != first.series.subject;
      })) {
    text += ", " + finding.sentence;
  }
  const std::string settings = settings_text(finding);
  return text + (settings.empty() ? "" : "; " + settings) +
         fmt::format("; p {:.2g}", first.change.p);
}

}  // namespace chokepoint::trends
