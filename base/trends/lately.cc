#include "base/trends/lately.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>

#include "base/documents/main_figures.h"
#include "base/history/job.h"
#include "base/sys/parallel.h"

namespace chokepoint::trends {
namespace {

using documents::Better;

std::vector<SeriesChange> changes_in(const history::MeasuredSeries& series, std::int64_t since_ns,
                                     std::int64_t now_ns) {
  std::vector<SeriesChange> found;
  const auto changes = find_changes(points_of(series, now_ns));
  if (!changes) {
    return found;
  }
  for (const LevelChange& change : changes->changes) {
    if (change.first_bad_ns >= since_ns) {
      found.push_back(
          {.series = series.series,
           .change = change,
           .source_before = series.points[change.last_good].source,
           .source_after = series.points[change.first_bad].source,
           .is_worse = is_worse(series.series, change.after.median, change.before.median)});
    }
  }
  return found;
}

// In the order of the series, each of which is examined on a thread of its own.
std::vector<SeriesChange> changes_in(std::span<const history::MeasuredSeries> all,
                                     std::int64_t since_ns, std::int64_t now_ns) {
  std::vector<std::vector<SeriesChange>> of_series(all.size());
  sys::for_each_in_parallel("history", all.size(), [&](std::size_t at) {
    if (!all[at].points.empty() && all[at].points.back().wall_ns >= since_ns) {
      of_series[at] = changes_in(all[at], since_ns, now_ns);
    }
  });
  std::vector<SeriesChange> found;
  for (std::vector<SeriesChange>& each : of_series) {
    std::ranges::move(each, std::back_inserter(found));
  }
  return found;
}

TimeBetween time_of(const LevelChange& change) {
  return {.after_ns = change.last_good_ns, .until_ns = change.first_bad_ns};
}

double size_of(const SeriesChange& change) { return std::abs(change.change.relative.value_or(1)); }

// Those on which a job ran have its computing time.
std::vector<std::string> hosts_of_job(const std::string& job,
                                      std::span<const history::MeasuredSeries> all) {
  std::vector<std::string> hosts;
  for (const history::MeasuredSeries& each : all) {
    if (each.series.subject.kind == SubjectKind::Host &&
        each.series.setting == history::setting_of_job(job)) {
      hosts.push_back(each.series.subject.host);
    }
  }
  return hosts;
}

// On which hosts to look for what changed: that which all have in common, else both ends of a path
// or all hosts of a job.
std::vector<std::string> hosts_of(const JoinedFindings& joined, const SeriesChange& change,
                                  std::span<const history::MeasuredSeries> all) {
  const Subject& subject = change.series.subject;
  if (!joined.host.empty()) {
    return {joined.host};
  }
  if (subject.kind == SubjectKind::Job) {
    return hosts_of_job(subject.name, all);
  }
  return subject.to.empty() ? std::vector{subject.host} : std::vector{subject.host, subject.to};
}

std::string text_of(const std::vector<std::string>& hosts) {
  constexpr std::size_t kMostNamed = 4;
  return hosts.size() > kMostNamed ? fmt::format("{} hosts", hosts.size())
                                   : fmt::format("{}", fmt::join(hosts, ", "));
}

bool is_better_link(const FactLink& one, const FactLink& other) {
  return std::tuple(-one.share, one.hosts_without_fact) <
         std::tuple(-other.share, other.hosts_without_fact);
}

// What changed meanwhile on the one of these hosts where that goes best with the finding.
void add_settings(const std::vector<std::string>& hosts, std::span<const EffectOnHost> effects,
                  std::span<const SettingChange> settings, HistoryFinding& finding) {
  finding.host = text_of(hosts);
  for (const std::string& host : hosts) {
    std::vector<FactLink> links =
        which_fact({.host = host, .time = finding.time}, effects, settings);
    if (!links.empty() &&
        (finding.settings.empty() || is_better_link(links.front(), finding.settings.front()))) {
      finding.host = host;
      finding.settings = std::move(links);
    }
  }
}

std::vector<EffectOnHost> effects_of(std::span<const SeriesChange> all,
                                     const HistoryFinding& finding) {
  std::vector<EffectOnHost> effects;
  const SeriesChange& own = finding.changes.front();
  for (const SeriesChange& each : all) {
    if (each.series.metric == own.series.metric && each.is_worse == own.is_worse) {
      effects.push_back({.host = each.series.subject.host, .time = time_of(each.change)});
      if (!each.series.subject.to.empty()) {
        effects.push_back({.host = each.series.subject.to, .time = time_of(each.change)});
      }
    }
  }
  return effects;
}

std::vector<ChangeFinding> findings_of(std::span<const SeriesChange> changes) {
  std::vector<ChangeFinding> findings;
  for (const SeriesChange& change : changes) {
    findings.push_back({.subject = change.series.subject,
                        .metric = change.series.metric,
                        .is_worse = change.is_worse,
                        .time = time_of(change.change),
                        .relative = change.change.relative.value_or(0)});
  }
  return findings;
}

// A change is found between so many points on either side.
std::vector<WatchedFigure> watched_in(std::span<const history::MeasuredSeries> all) {
  constexpr std::size_t kMinPoints = ChangeRules().min_points;
  std::vector<WatchedFigure> watched;
  for (const history::MeasuredSeries& series : all) {
    const std::size_t count = series.points.size();
    if (count >= 2 * kMinPoints) {
      watched.push_back({.subject = series.series.subject,
                         .metric = series.series.metric,
                         .time = {.after_ns = series.points[kMinPoints - 1].wall_ns,
                                  .until_ns = series.points[count - kMinPoints].wall_ns}});
    }
  }
  return watched;
}

// By host and setting, each value with when it was first and last seen.
struct Seen {
  std::string value = {};
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
};
using SeenSettings = std::map<std::pair<std::string, std::string>, std::vector<Seen>>;

SeenSettings seen_in(std::span<const history::StateSpan> states) {
  SeenSettings seen;
  for (const history::StateSpan& state : states) {
    for (const auto& [subject, values] : *state.settings) {
      for (const auto& [key, value] : values) {
        seen[{state.host, subject + " " + key}].push_back(
            {.value = value, .first_ns = state.first_ns, .last_ns = state.last_ns});
      }
    }
  }
  return seen;
}

}  // namespace

bool is_worse(const history::Series& series, double now, double before) {
  return series.better == Better::Neither || (now > before) == (series.better == Better::Less);
}

std::vector<HistoryPoint> points_of(const history::MeasuredSeries& series, std::int64_t until_ns) {
  std::vector<HistoryPoint> points;
  for (const history::Measured& point : series.points) {
    if (point.wall_ns <= until_ns) {
      points.push_back(
          {.t_ns = point.wall_ns,
           .value = point.value,
           .spread = point.spread.value_or(0),
           .count = static_cast<std::uint64_t>(std::max<std::int64_t>(point.count, 0))});
    }
  }
  return points;
}

std::vector<SettingChange> setting_changes(std::span<const history::StateSpan> states) {
  std::vector<SettingChange> changes;
  for (auto& [name, seen] : seen_in(states)) {
    std::ranges::sort(seen, {}, &Seen::first_ns);
    Seen before = seen.front();
    for (const Seen& each : seen) {
      if (each.value != before.value) {
        changes.push_back({.host = name.first,
                           .fact = name.second,
                           .old_value = before.value,
                           .new_value = each.value,
                           .time = {.after_ns = std::min(before.last_ns, each.first_ns - 1),
                                    .until_ns = each.first_ns}});
        before = each;
      }
      before.last_ns = std::max(before.last_ns, each.last_ns);
    }
  }
  return changes;
}

std::vector<HistoryFinding> changed_since(std::span<const history::MeasuredSeries> all,
                                          std::span<const history::StateSpan> states,
                                          std::int64_t since_ns, std::int64_t now_ns) {
  const std::vector<SeriesChange> changes = changes_in(all, since_ns, now_ns);
  const std::vector<ChangeFinding> findings = findings_of(changes);
  const std::vector<SettingChange> settings = setting_changes(states);
  std::vector<HistoryFinding> found;
  for (const JoinedFindings& joined : join_findings(findings, watched_in(all))) {
    HistoryFinding finding{.sentence = sentence_of(joined, findings),
                           .time = joined.time,
                           .is_worse = joined.is_worse};
    for (const std::size_t at : joined.findings) {
      finding.changes.push_back(changes[at]);
    }
    std::ranges::stable_sort(finding.changes, std::ranges::greater(), size_of);
    add_settings(hosts_of(joined, finding.changes.front(), all), effects_of(changes, finding),
                 settings, finding);
    found.push_back(std::move(finding));
  }
  std::ranges::stable_sort(found, [](const HistoryFinding& one, const HistoryFinding& other) {
    return std::pair(one.is_worse, size_of(one.changes.front())) >
           std::pair(other.is_worse, size_of(other.changes.front()));
  });
  return found;
}

}  // namespace chokepoint::trends
