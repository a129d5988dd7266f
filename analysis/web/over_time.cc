#include "analysis/web/over_time.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "base/math/units.h"
#include "base/trends/change_points.h"
#include "base/trends/finding_text.h"
#include "base/trends/lately.h"

namespace chokepoint::analysis::web {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;

// Without what a clock that runs ahead has added.
history::MeasuredSeries until(const history::MeasuredSeries& series, std::int64_t now_ns) {
  history::MeasuredSeries kept{.series = series.series};
  std::ranges::copy_if(
      series.points, std::back_inserter(kept.points),
      [now_ns](const history::Measured& point) { return point.wall_ns <= now_ns; });
  return kept;
}

// The least and the largest value of each span, so that a lone one stays visible.
std::vector<std::size_t> shown_points(const std::vector<history::Measured>& points) {
  std::vector<std::size_t> shown;
  if (points.size() <= kMaxPointsShown) {
    for (std::size_t at = 0; at < points.size(); ++at) {
      shown.push_back(at);
    }
    return shown;
  }
  const std::size_t spans = kMaxPointsShown / 2;
  for (std::size_t span = 0; span < spans; ++span) {
    const auto from = static_cast<std::ptrdiff_t>(points.size() * span / spans);
    const auto to = static_cast<std::ptrdiff_t>(points.size() * (span + 1) / spans);
    const auto [least, largest] = std::ranges::minmax_element(
        points.begin() + from, points.begin() + to, {}, &history::Measured::value);
    std::size_t first = static_cast<std::size_t>(least - points.begin());
    std::size_t second = static_cast<std::size_t>(largest - points.begin());
    if (first > second) {
      std::swap(first, second);
    }
    shown.push_back(first);
    if (second != first) {
      shown.push_back(second);
    }
  }
  return shown;
}

// Every change, however long ago; each alone, so that none is joined with another one.
std::vector<TimedChange> changes_of(const history::MeasuredSeries& series) {
  std::vector<TimedChange> timed;
  for (const trends::HistoryFinding& finding :
       trends::changed_since({&series, 1}, {}, 0, INT64_MAX)) {
    for (const trends::SeriesChange& each : finding.changes) {
      const trends::LevelChange& change = each.change;
      timed.push_back({.last_good = {.ns = change.last_good_ns},
                       .first_bad = {.ns = change.first_bad_ns},
                       .before = change.before.median,
                       .after = change.after.median,
                       .percent = change.relative ? std::optional(math::kPercent * *change.relative)
                                                  : std::nullopt,
                       .p = change.p,
                       .is_worse = each.is_worse,
                       .source_before = each.source_before,
                       .source_after = each.source_after});
    }
  }
  std::ranges::sort(timed, {}, [](const TimedChange& change) { return change.first_bad.ns; });
  return timed;
}

TimedSeries timed_of(const history::MeasuredSeries& series) {
  TimedSeries timed{.subject = history::text_of(series.series.subject),
                    .metric = series.series.metric,
                    .title = trends::metric_name(series.series.metric),
                    .setting = series.series.setting,
                    .unit = series.series.unit,
                    .better = series.series.better,
                    .points = series.points.size()};
  for (const std::size_t at : shown_points(series.points)) {
    timed.times_s.push_back(series.points[at].wall_ns / kSecondNs);
    timed.values.push_back(series.points[at].value);
  }
  timed.changes = changes_of(series);
  return timed;
}

std::set<std::string> hosts_in(std::span<const history::MeasuredSeries> all) {
  std::set<std::string> hosts;
  for (const history::MeasuredSeries& each : all) {
    hosts.insert(each.series.subject.host);
    hosts.insert(each.series.subject.to);
  }
  return hosts;
}

std::vector<TimedSetting> settings_on(const std::set<std::string>& hosts,
                                      std::span<const history::StateSpan> states) {
  std::vector<TimedSetting> settings;
  for (const trends::SettingChange& change : trends::setting_changes(states)) {
    if (hosts.contains(change.host)) {
      settings.push_back({.host = change.host,
                          .name = change.fact,
                          .before = change.old_value,
                          .after = change.new_value,
                          .last_seen = {.ns = change.time.after_ns},
                          .first_seen = {.ns = change.time.until_ns}});
    }
  }
  std::ranges::stable_sort(settings, {},
                           [](const TimedSetting& each) { return each.first_seen.ns; });
  return settings;
}

std::int64_t newest_change(const TimedSeries& series) {
  return series.changes.empty() ? 0 : series.changes.back().first_bad.ns;
}

}  // namespace

SubjectOverTime over_time(std::span<const history::MeasuredSeries> all,
                          std::span<const history::StateSpan> states, std::int64_t now_ns) {
  SubjectOverTime subject{.settings = settings_on(hosts_in(all), states)};
  for (const history::MeasuredSeries& each : all) {
    const history::MeasuredSeries kept = until(each, now_ns);
    if (!kept.points.empty()) {
      subject.series.push_back(timed_of(kept));
    }
  }
  std::ranges::stable_sort(subject.series, std::ranges::greater(), newest_change);
  if (subject.series.size() > kMaxSeries) {
    subject.left_out += subject.series.size() - kMaxSeries;
    subject.series.resize(kMaxSeries);
  }
  if (subject.settings.size() > kMaxSettings) {  // the oldest go
    const std::size_t many = subject.settings.size() - kMaxSettings;
    subject.left_out += many;
    subject.settings.erase(subject.settings.begin(),
                           subject.settings.begin() + static_cast<std::ptrdiff_t>(many));
  }
  return subject;
}

}  // namespace chokepoint::analysis::web
