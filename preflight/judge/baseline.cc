#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>

#include "base/math/statistics.h"
#include "base/math/units.h"
#include "preflight/judge/expectation.h"
#include "preflight/judge/figure_text.h"
#include "preflight/judge/findings.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;

// A round trip is worse than the last time from this ratio on.
constexpr double kMinGrowth = 1.5;

// Of one figure, by way: what it was and what it is.
struct Change {
  PathIndex path = 0;
  double before = 0;
  double now = 0;
};

// figures(way) are those of the last time and of now.
template <class Figures>
std::vector<Change> changes_of(const JudgeContext& context, Figures figures) {
  std::vector<Change> changes;
  for (PathIndex index = 0; index < context.input.paths().size(); ++index) {
    const auto [before, now] = figures(context.input.paths()[index]);
    if (now && before && *before > 0) {
      changes.push_back({index, *before, *now});
    }
  }
  return changes;
}

std::vector<Change> changes_of_rates(const JudgeContext& context) {
  return changes_of(context, [&](const DirectedPath& path) {
    const PathResult* then = context.earlier.path(path);
    return std::pair(then == nullptr ? Figure() : rate_of(*then), rate_of(*path.result));
  });
}

std::vector<Change> changes_of_round_trips(const JudgeContext& context) {
  return changes_of(context, [&](const DirectedPath& path) {
    const PairResult* then = context.earlier.pair(path);
    return std::pair(then == nullptr ? Figure() : then->rtt_ms, path.pair->rtt_ms);
  });
}

std::vector<double> shares_of(const std::vector<Change>& changes) {
  std::vector<double> shares;
  for (const Change& change : changes) {
    shares.push_back(change.now / change.before);
  }
  return shares;
}

// How far a repeat of the same run lay from the first, where it was fine.
std::vector<double> repeats_of(const Measured& measured) {
  std::vector<double> apart;
  const auto add = [&](const PathResult& path) {
    if (path.tcp_mbps && path.alone_mbps && *path.alone_mbps > 0) {
      apart.push_back(std::abs(1 - *path.tcp_mbps / *path.alone_mbps));
    }
  };
  for (const PairResult& pair : measured.pairs) {
    add(pair.there);
    add(pair.back);
  }
  return apart;
}

// The share by which a rate may fall and still be the same: what the user allows, and what the
// ways' changes scatter, unless most of them fell.
double allowed_fall(const JudgeContext& context, const std::vector<Change>& changes) {
  const double repeats = math::median(repeats_of(*context.earlier.before())).value_or(0);
  const double few = context.input.limits().baseline_worse_percent / 100;
  return std::max({few, kSigmas * spread_of(shares_of(changes)), std::min(repeats, 0.5)});
}

double allowed_growth(const JudgeContext& context, const std::vector<Change>& changes) {
  std::vector<double> grown;
  for (const Change& change : changes) {
    grown.push_back(change.now - change.before);
  }
  return std::max(context.input.limits().baseline_latency_ms, kSigmas * spread_of(grown));
}

using IsWorse = std::function<bool(const Change&)>;

std::vector<Tested> tested_in(const JudgeContext& context, const std::vector<Change>& changes,
                              const IsWorse& is_worse) {
  std::vector<Tested> tested;
  for (const Change& change : changes) {
    const DirectedPath& path = context.input.paths()[change.path];
    if (!context.explained[change.path]) {
      tested.push_back({change.path, path.from, path.to, 1, is_worse(change) ? 1.0 : 0.0});
    }
  }
  return tested;
}

struct Medians {
  double before = 0;
  double now = 0;
};

Medians medians_of(const std::vector<Change>& changes, const std::vector<PathIndex>& paths) {
  std::vector<double> before;
  std::vector<double> now;
  for (const Change& change : changes) {
    if (std::ranges::binary_search(paths, change.path)) {
      before.push_back(change.before);
      now.push_back(change.now);
    }
  }
  return {math::median(before).value_or(0), math::median(now).value_or(0)};
}

// What is compared, and how a finding names it.
struct Compared {
  const char* name = "";
  const char* unit = "";
  const char* source = "";
  std::string (*words)(double value) = nullptr;
};

constexpr Compared kRates{"throughput, the median", "Mb/s", "probe tcp", rate_words};
constexpr Compared kRoundTrips{"round trip, the median", "ms", "probe latency", math::format_ms};

void report_worse(JudgeContext& context, const std::vector<Change>& changes,
                  const IsWorse& is_worse, const Compared& compared) {
  for (FaultLocation& one :
       locate_faults(context.input.hosts(), tested_in(context, changes, is_worse))) {
    std::ranges::sort(one.paths);
    const Medians medians = medians_of(changes, one.paths);
    // A round trip that grew is not below any share.
    Finding finding = finding_of(context.input, one, "baseline.worse",
                                 grade_of(context.input.limits(), medians.now, medians.before));
    finding.check.found = fmt::format("{} on {}", compared.words(medians.now),
                                      counted(one.paths.size(), "path", "paths"));
    finding.check.wanted = compared.words(medians.before) + ", as the last time";
    finding.evidence = {{compared.name, medians.now, compared.unit, compared.source},
                        {"the last time", medians.before, compared.unit, "baseline"}};
    context.add(std::move(finding));
  }
}

// Adds to findings about rates what the same paths carried the last time.
void mark_found(JudgeContext& context, const std::vector<Change>& changes,
                const IsWorse& is_worse) {
  std::set<std::pair<HostIndex, HostIndex>> fallen;
  for (const Change& change : changes) {
    if (is_worse(change)) {
      const DirectedPath& path = context.input.paths()[change.path];
      fallen.insert({path.from, path.to});
    }
  }
  for (Finding& finding : context.findings) {
    const auto paths = std::ranges::count_if(
        finding.paths, [&](const auto& path) { return fallen.contains(path); });
    if (paths > 0 && 2 * static_cast<std::size_t>(paths) >= finding.paths.size() &&
        finding.check.id != "link.mtu" && finding.check.status >= Status::Warning) {
      finding.check.found += "; worse than the last time";
    }
  }
}

void judge_rates_then(JudgeContext& context) {
  const std::vector<Change> changes = changes_of_rates(context);
  if (changes.empty()) {
    return;
  }
  const double fall = allowed_fall(context, changes);
  const IsWorse is_worse = [fall](const Change& change) {
    return change.now < (1 - fall) * change.before;
  };
  mark_found(context, changes, is_worse);
  report_worse(context, changes, is_worse, kRates);
}

void judge_round_trips_then(JudgeContext& context) {
  const std::vector<Change> changes = changes_of_round_trips(context);
  if (changes.empty() || context.has("link.latency", Status::Warning)) {
    return;
  }
  const double growth = allowed_growth(context, changes);
  const IsWorse is_worse = [growth](const Change& change) {
    return change.now > kMinGrowth * change.before && change.now > change.before + growth;
  };
  report_worse(context, changes, is_worse, kRoundTrips);
}

std::string list_of(const std::vector<std::string_view>& names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t index = 0; index < std::min(names.size(), kShown); ++index) {
    text += (index == 0 ? "" : ", ") + std::string(names[index]);
  }
  return names.size() <= kShown ? text : fmt::format("{} and {} more", text, names.size() - kShown);
}

void judge_hosts_then(JudgeContext& context) {
  std::set<std::string_view> now;
  std::vector<std::string_view> fresh;
  for (HostIndex host = 0; host < context.input.hosts(); ++host) {
    now.insert(context.input.name(host));
    if (!context.earlier.host(host)) {
      fresh.push_back(context.input.name(host));
    }
  }
  std::vector<std::string_view> missing;
  for (const HostResult& host : context.earlier.before()->hosts) {
    if (!now.contains(host.name)) {
      missing.push_back(host.name);
    }
  }
  if (fresh.empty() && missing.empty()) {
    return;
  }
  Finding finding;
  finding.check = {.id = "baseline.hosts", .status = Status::Info, .subject = "cluster"};
  finding.check.found = fresh.empty() ? "" : "new: " + list_of(fresh);
  if (!missing.empty()) {
    finding.check.found +=
        (fresh.empty() ? "not there any more: " : "; not there any more: ") + list_of(missing);
  }
  finding.check.why = "only hosts that were there the last time can be compared, by their names";
  context.add(std::move(finding));
}

}  // namespace

void judge_baseline(JudgeContext& context) {
  if (!context.earlier.is_known()) {
    return;
  }
  judge_rates_then(context);
  judge_round_trips_then(context);
  judge_hosts_then(context);
  const std::vector<double> shares = shares_of(changes_of_rates(context));
  if (!shares.empty() && !context.has("baseline.worse", Status::Warning)) {
    context.pass("baseline.worse", fmt::format("{} as the last time: {:+.1f} % in the middle",
                                               counted(shares.size(), "path", "paths"),
                                               100 * (math::median(shares).value_or(1) - 1)));
  }
}

}  // namespace chokepoint::preflight
