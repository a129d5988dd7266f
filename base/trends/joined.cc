#include "base/trends/joined.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace chokepoint::trends {
namespace {

constexpr double kLeastCoverage = 0.75;  // of a place's subjects, so that the place is at fault

// Where subjects are: all of a kind, or what begins, ends or is at a host.
struct Place {
  SharedPlace kind = SharedPlace::One;
  SubjectKind subjects = SubjectKind::Host;
  std::string host;

  auto operator<=>(const Place&) const = default;
};

bool holds_subject(const Place& place, const Subject& subject) {
  const bool is_path = subject.kind == SubjectKind::Path;
  switch (place.kind) {
    case SharedPlace::FromHost:
      return is_path && subject.host == place.host;
    case SharedPlace::ToHost:
      return is_path && subject.to == place.host;
    case SharedPlace::OnHost:
      return subject.host == place.host || (is_path && subject.to == place.host);
    case SharedPlace::Everywhere:
      return subject.kind == place.subjects;
    case SharedPlace::One:
      break;
  }
  return false;
}

auto key_of(const Subject& subject) {
  return std::tuple(subject.kind, subject.host, subject.to, subject.name);
}

using SubjectSet = std::set<std::tuple<SubjectKind, std::string, std::string, std::string>>;

// Findings of one time and direction, of which some are in groups already.
struct Moment {
  bool is_worse = true;
  TimeBetween time;
  std::vector<std::size_t> findings;
};

// The moments: findings in the order of their ends, each with those that begin before the first of
// them ends, so that all have a time in common.
std::vector<Moment> moments_of_findings(std::span<const ChangeFinding> findings) {
  std::vector<std::size_t> order(findings.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return findings[i].time.until_ns; });
  std::vector<Moment> moments;
  for (const std::size_t i : order) {
    const ChangeFinding& finding = findings[i];
    const auto at = std::ranges::find_if(moments, [&](const Moment& moment) {
      return moment.is_worse == finding.is_worse && finding.time.after_ns < moment.time.until_ns;
    });
    if (at == moments.end()) {
      moments.push_back({finding.is_worse, finding.time, {i}});
    } else {
      at->time.after_ns = std::max(at->time.after_ns, finding.time.after_ns);
      at->findings.push_back(i);
    }
  }
  return moments;
}

std::vector<Place> places_of(const Subject& subject) {
  std::vector<Place> places{{SharedPlace::Everywhere, subject.kind, {}},
                            {SharedPlace::OnHost, SubjectKind::Host, subject.host}};
  if (subject.kind == SubjectKind::Path) {
    places.push_back({SharedPlace::FromHost, SubjectKind::Path, subject.host});
    places.push_back({SharedPlace::ToHost, SubjectKind::Path, subject.to});
    places.push_back({SharedPlace::OnHost, SubjectKind::Host, subject.to});
  }
  return places;
}

// What was not measured often enough before or since says nothing.
std::vector<const WatchedFigure*> watched_then(const Moment& moment,
                                               std::span<const WatchedFigure> all) {
  std::vector<const WatchedFigure*> watched;
  for (const WatchedFigure& figure : all) {
    if (figure.time.after_ns < moment.time.until_ns &&
        moment.time.after_ns < figure.time.until_ns) {
      watched.push_back(&figure);
    }
  }
  return watched;
}

struct Counted {
  Place place;
  std::vector<std::size_t> findings;
  std::size_t affected = 0;
  std::size_t watched = 0;
};

Counted counted(const Place& place, std::span<const std::size_t> left,
                std::span<const ChangeFinding> findings,
                std::span<const WatchedFigure* const> watched) {
  Counted result{.place = place, .findings = {}};
  SubjectSet affected;
  SubjectSet all;
  std::set<std::string_view> metrics;
  for (const std::size_t i : left) {
    if (holds_subject(place, findings[i].subject)) {
      result.findings.push_back(i);
      affected.insert(key_of(findings[i].subject));
      metrics.insert(findings[i].metric);
    }
  }
  for (const WatchedFigure* figure : watched) {
    if (holds_subject(place, figure->subject) && metrics.contains(figure->metric)) {
      all.insert(key_of(figure->subject));
    }
  }
  all.insert(affected.begin(), affected.end());
  result.affected = affected.size();
  result.watched = all.size();
  return result;
}

// All of a kind are a place only where several hosts have them.
bool is_joint(const Counted& counted, std::span<const ChangeFinding> findings) {
  std::set<std::string_view> hosts;
  for (const std::size_t i : counted.findings) {
    hosts.insert(findings[i].subject.host);
  }
  const bool is_wide = counted.place.kind != SharedPlace::Everywhere || hosts.size() >= 3;
  return is_wide && counted.affected >= 2 &&
         static_cast<double>(counted.affected) >=
             kLeastCoverage * static_cast<double>(counted.watched);
}

// The place that explains the most findings; of equal ones the narrower, which leaves fewer
// subjects without a finding and is listed first.
std::optional<Counted> best_place(std::span<const std::size_t> left,
                                  std::span<const ChangeFinding> findings,
                                  std::span<const WatchedFigure* const> watched) {
  std::set<Place> places;
  for (const std::size_t i : left) {
    for (const Place& place : places_of(findings[i].subject)) {
      places.insert(place);
    }
  }
  std::optional<Counted> best;
  for (const Place& place : places) {
    Counted now = counted(place, left, findings, watched);
    const bool is_better =
        !best || now.findings.size() > best->findings.size() ||
        (now.findings.size() == best->findings.size() && now.watched < best->watched);
    if (is_joint(now, findings) && is_better) {
      best = std::move(now);
    }
  }
  return best;
}

std::size_t elsewhere_of(const JoinedFindings& joined, const Moment& moment,
                         std::span<const ChangeFinding> findings) {
  std::set<SubjectKind> kinds;
  SubjectSet inside;
  SubjectSet others;
  for (const std::size_t i : joined.findings) {
    kinds.insert(findings[i].subject.kind);
    inside.insert(key_of(findings[i].subject));
  }
  for (const std::size_t i : moment.findings) {
    const Subject& subject = findings[i].subject;
    if (kinds.contains(subject.kind) && !inside.contains(key_of(subject))) {
      others.insert(key_of(subject));
    }
  }
  return others.size();
}

// What no place explains: a group for each subject.
Counted single_subject(std::span<const std::size_t> left, std::span<const ChangeFinding> findings) {
  Counted result{.place = {}, .findings = {}, .affected = 1, .watched = 1};
  const Subject& subject = findings[left.front()].subject;
  for (const std::size_t i : left) {
    if (findings[i].subject == subject) {
      result.findings.push_back(i);
    }
  }
  return result;
}

std::string_view plural_of(SubjectKind kind) {
  switch (kind) {
    case SubjectKind::Host:
      return "hosts";
    case SubjectKind::Path:
      return "paths";
    case SubjectKind::Gpu:
      return "GPUs";
    case SubjectKind::Nic:
      return "NICs";
    case SubjectKind::Disk:
      return "disks";
    case SubjectKind::Group:
      return "groups of hosts";
    case SubjectKind::Job:
      return "jobs";
  }
  return {};
}

std::string name_of_subject(const Subject& subject) {
  if (subject.kind == SubjectKind::Path) {
    return fmt::format("the path from {} to {}", subject.host, subject.to);
  }
  if (subject.name.empty() || subject.host.empty()) {
    return history::text_of(subject);
  }
  return fmt::format("{} of {}", subject.name, subject.host);
}

}  // namespace

std::vector<JoinedFindings> join_findings(std::span<const ChangeFinding> findings,
                                          std::span<const WatchedFigure> all) {
  std::vector<JoinedFindings> result;
  for (const Moment& moment : moments_of_findings(findings)) {
    const std::vector<const WatchedFigure*> watched = watched_then(moment, all);
    std::vector<std::size_t> left = moment.findings;
    while (!left.empty()) {
      const Counted found =
          best_place(left, findings, watched).value_or(single_subject(left, findings));
      JoinedFindings joined{.place = found.place.kind,
                            .kind = findings[found.findings.front()].subject.kind,
                            .host = found.place.host,
                            .is_worse = moment.is_worse,
                            .time = moment.time,
                            .findings = found.findings,
                            .affected = found.affected,
                            .watched = found.watched,
                            .elsewhere = 0};
      joined.elsewhere = elsewhere_of(joined, moment, findings);
      std::erase_if(left, [&](std::size_t i) {
        return std::ranges::find(found.findings, i) != found.findings.end();
      });
      result.push_back(std::move(joined));
    }
  }
  std::ranges::stable_sort(result, std::ranges::greater{},
                           [](const JoinedFindings& joined) { return joined.findings.size(); });
  return result;
}

std::string sentence_of(const JoinedFindings& joined, std::span<const ChangeFinding> findings) {
  if (joined.place == SharedPlace::One) {
    return name_of_subject(findings[joined.findings.front()].subject);
  }
  const bool is_mixed = std::ranges::any_of(
      joined.findings, [&](std::size_t i) { return findings[i].subject.kind != joined.kind; });
  std::string what = fmt::format("{} of {} {}", joined.affected, joined.watched,
                                 is_mixed ? "subjects" : plural_of(joined.kind));
  const std::string elsewhere = joined.elsewhere == 0
                                    ? std::string("none elsewhere")
                                    : fmt::format("{} elsewhere", joined.elsewhere);
  switch (joined.place) {
    case SharedPlace::FromHost:
      return fmt::format("{} from {}, {}", what, joined.host, elsewhere);
    case SharedPlace::ToHost:
      return fmt::format("{} to {}, {}", what, joined.host, elsewhere);
    case SharedPlace::OnHost:
      return fmt::format("{} at {}, {}", what, joined.host, elsewhere);
    case SharedPlace::Everywhere:
    case SharedPlace::One:
      break;
  }
  return what;
}

}  // namespace chokepoint::trends
