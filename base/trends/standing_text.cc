#include "base/trends/standing_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/math/quantity.h"
#include "base/math/units.h"
#include "base/trends/finding_text.h"
#include "base/trends/joined.h"

namespace chokepoint::trends {
namespace {

std::string counted(std::size_t count, const MeasurementName& name) {
  return fmt::format("{} earlier {}", count, count == 1 ? name.one : name.several);
}

std::string percent_text(const Standing& standing) {
  return standing.relative ? fmt::format("{:+.0f} %", math::kPercent * *standing.relative) : "";
}

std::string name_of_source(const std::string& source) {
  const std::size_t slash = source.find_last_of('/');
  return slash == std::string::npos ? source : source.substr(slash + 1);
}

std::string since_text(const NewLevel& since) {
  const std::string source = name_of_source(since.source);
  return fmt::format(", since {}{}", source.empty() ? "" : source + " of ",
                     minute_text(since.wall_ns));
}

// "94.0 Mb/s → 71.0 Mb/s (-24 %)"
std::string change_of(const Standing& standing) {
  const std::string percent = percent_text(standing);
  return fmt::format("{} → {}{}", math::quantity_text(standing.usual, standing.series.unit),
                     math::quantity_text(standing.value, standing.series.unit),
                     percent.empty() ? "" : " (" + percent + ")");
}

double difference_of(const Standing& standing) { return std::abs(standing.relative.value_or(1)); }

std::vector<ChangeFinding> findings_of(std::span<const Standing> unusual) {
  std::vector<ChangeFinding> findings;
  for (const Standing& standing : unusual) {
    findings.push_back({.subject = standing.series.subject,
                        .metric = standing.series.metric,
                        .is_worse = standing.is_worse,
                        .time = {.after_ns = 0, .until_ns = 1},
                        .relative = standing.relative.value_or(0)});
  }
  return findings;
}

std::vector<WatchedFigure> watched_in(std::span<const Standing> standings) {
  std::vector<WatchedFigure> watched;
  for (const Standing& standing : standings) {
    watched.push_back({.subject = standing.series.subject,
                       .metric = standing.series.metric,
                       .time = {.after_ns = 0, .until_ns = 1}});
  }
  return watched;
}

std::string sentence_of_place(const UnusualPlace& place, const std::string& joined,
                              const MeasurementName& name) {
  const Standing& first = place.standings.front();
  return fmt::format("{}: {} {}{}; {}{}", history::text_of(first.series.subject),
                     metric_name(first.series.metric), change_of(first),
                     place.standings.size() > 1 ? ", " + joined : "", counted(first.earlier, name),
                     first.since ? since_text(*first.since) : "");
}

}  // namespace

std::string standing_text(const Standing& standing, const MeasurementName& name) {
  const std::string usual = math::quantity_text(standing.usual, standing.series.unit);
  if (standing.is_unusual) {
    return fmt::format("{}: {}; p {:.2g}{}", counted(standing.earlier, name), change_of(standing),
                       standing.p, standing.since ? since_text(*standing.since) : "");
  }
  const std::string percent = percent_text(standing);
  const std::string difference =
      percent.empty() ? "" : fmt::format("; this {} {}", name.one, percent);
  return standing.p < 1 ? fmt::format("as usual: {} in {}{}", usual,
                                      counted(standing.earlier, name), difference)
                        : fmt::format("{} in {}{}; too few to say what is usual", usual,
                                      counted(standing.earlier, name), difference);
}

std::vector<UnusualPlace> unusual_places(std::span<const Standing> standings,
                                         const MeasurementName& name) {
  std::vector<Standing> unusual;
  std::ranges::copy_if(standings, std::back_inserter(unusual), &Standing::is_unusual);
  const std::vector<ChangeFinding> findings = findings_of(unusual);
  std::vector<UnusualPlace> places;
  for (const JoinedFindings& joined : join_findings(findings, watched_in(standings))) {
    UnusualPlace place{.is_worse = joined.is_worse};
    for (const std::size_t at : joined.findings) {
      place.standings.push_back(unusual[at]);
    }
    std::ranges::stable_sort(place.standings, std::ranges::greater(), difference_of);
    place.sentence = sentence_of_place(place, sentence_of(joined, findings), name);
    places.push_back(std::move(place));
  }
  std::ranges::stable_sort(places, std::ranges::greater(), &UnusualPlace::is_worse);
  return places;
}

ShownStanding shown(const Standing& standing, const MeasurementName& name) {
  ShownStanding part{.sentence = standing_text(standing, name),
                     .subject = history::text_of(standing.series.subject),
                     .metric = standing.series.metric,
                     .unit = standing.series.unit,
                     .value = standing.value,
                     .usual = standing.usual,
                     .earlier = static_cast<std::int64_t>(standing.earlier),
                     .p = std::min(standing.p, 1.0),
                     .is_unusual = standing.is_unusual,
                     .is_worse = standing.is_worse};
  if (standing.relative) {
    part.percent = math::kPercent * *standing.relative;
  }
  if (standing.since) {
    part.since = ShownSince{.at = {.ns = standing.since->wall_ns},
                            .source = standing.since->source,
                            .count = static_cast<std::int64_t>(standing.since->count)};
  }
  return part;
}

ShownPlace shown(const UnusualPlace& place, const MeasurementName& name) {
  ShownPlace part{.sentence = place.sentence, .is_worse = place.is_worse};
  for (const Standing& standing : place.standings) {
    part.standings.push_back(shown(standing, name));
  }
  return part;
}

}  // namespace chokepoint::trends
