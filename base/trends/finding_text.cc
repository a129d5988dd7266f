#include "base/trends/finding_text.h"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace

std::string metric_name(const std::string& metric) {
  const auto* const found = std::ranges::find_if(
      documents::kMainFigures,
      [&](const documents::MainFigure& figure) { return metric == figure.key; });
  return found == documents::kMainFigures.end() ? metric : found->name;
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
