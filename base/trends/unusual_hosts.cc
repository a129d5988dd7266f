#include "base/trends/unusual_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

#include "base/math/quantity.h"
#include "base/math/significance.h"
#include "base/math/statistics.h"
#include "base/math/units.h"
#include "base/trends/finding_text.h"
#include "base/trends/lately.h"
#include "base/trends/peers.h"

namespace chokepoint::trends {
namespace {

constexpr std::int64_t kRecentNs = std::int64_t{7} * 24 * 3600 * 1'000'000'000;
constexpr std::size_t kLatest = 5;  // measurements of a series that say how it is now

// What hosts must have in common to be compared: models of processors and GPUs.
using Hardware = std::string;

std::map<std::string, Hardware> hardware_of(std::span<const history::StateSpan> states) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kHardware{
      {{"cpu", "model"}, {"cpu", "cores"}, {"gpu", "name"}}};
  std::map<std::string, Hardware> all;
  for (const history::StateSpan& state : states) {
    Hardware hardware;
    for (const auto& [subject, values] : *state.settings) {
      for (const auto& [category, key] : kHardware) {
        const auto found = values.find(std::string(key));
        if (subject.starts_with(category) && found != values.end()) {
          hardware += found->second + "\n";
        }
      }
    }
    all[state.host] = hardware;  // of one host the oldest comes first
  }
  return all;
}

// Series of several hosts that measure one thing.
using Kind = std::tuple<std::string, std::string, std::string, std::string>;

struct Compared {
  const history::Series* series = nullptr;
  std::map<std::string, std::vector<double>> hosts = {};
};

std::vector<double> latest(const history::MeasuredSeries& series, std::int64_t now_ns) {
  std::vector<double> values;
  for (auto point = series.points.rbegin();
       point != series.points.rend() && values.size() < kLatest; ++point) {
    if (point->wall_ns <= now_ns && point->wall_ns > now_ns - kRecentNs) {
      values.push_back(point->value);
    }
  }
  return values;
}

class Comparison {
 public:
  Comparison(std::span<const history::StateSpan> states, std::int64_t now_ns)
      : hardware_(hardware_of(states)), now_ns_(now_ns) {}

  void add(const history::MeasuredSeries& series) {
    const history::Subject& subject = series.series.subject;
    if (subject.host.empty()) {
      return;
    }
    const std::vector<double> values = latest(series, now_ns_);
    const auto median = math::median(values);
    if (!median) {
      return;
    }
    if (subject.kind == history::SubjectKind::Path) {
      of(subject.host, kPathsFromIt, series.series).push_back(*median);
      of(subject.to, kPathsToIt, series.series).push_back(*median);
      return;
    }
    std::vector<double>& known = of(subject.host, subject.name, series.series);
    known.insert(known.end(), values.begin(), values.end());
  }

  std::vector<UnusualHost> all() const {
    std::vector<UnusualHost> found;
    for (const auto& [kind, compared] : compared_) {
      find(std::get<1>(kind), compared, found);
    }
    return found;
  }

 private:
  std::vector<double>& of(const std::string& host, const std::string& what,
                          const history::Series& series) {
    const auto known = hardware_.find(host);
    Compared& compared = compared_[{known == hardware_.end() ? "" : known->second, what,
                                    series.metric, series.setting}];
    compared.series = &series;
    return compared.hosts[host];
  }

  static PeerValue peer_value(const std::vector<double>& values) {
    return {.value = math::median(values).value_or(0),
            .error = math::standard_deviation(values).value_or(0) /
                     std::sqrt(static_cast<double>(values.size()))};
  }

  static void find(const std::string& what, const Compared& compared,
                   std::vector<UnusualHost>& found) {
    std::vector<std::string> names;
    std::vector<PeerValue> values;
    for (const auto& [host, of_host] : compared.hosts) {
      names.push_back(host);
      values.push_back(peer_value(of_host));
    }
    const history::Series& series = *compared.series;
    for (const UnusualPeer& each : unusual_peers(values)) {
      const double value = values[each.peer].value;
      found.push_back({.host = names[each.peer],
                       .what = what,
                       .metric = series.metric,
                       .setting = series.setting,
                       .unit = series.unit,
                       .value = value,
                       .others = each.others,
                       .peers = names.size() - 1,
                       .relative = each.times ? std::optional(*each.times - 1) : std::nullopt,
                       .p = each.p,
                       .is_worse = is_worse(series, value, each.others)});
    }
  }

  std::map<std::string, Hardware> hardware_;
  std::int64_t now_ns_;
  std::map<Kind, Compared> compared_ = {};
};

}  // namespace

std::vector<UnusualHost> unusual_hosts(std::span<const history::MeasuredSeries> all,
                                       std::span<const history::StateSpan> states,
                                       std::int64_t now_ns) {
  Comparison comparison(states, now_ns);
  for (const history::MeasuredSeries& series : all) {
    comparison.add(series);
  }
  std::vector<UnusualHost> found = comparison.all();
  std::ranges::stable_sort(found, [](const UnusualHost& one, const UnusualHost& other) {
    return std::pair(one.is_worse, std::abs(one.relative.value_or(1))) >
           std::pair(other.is_worse, std::abs(other.relative.value_or(1)));
  });
  return found;
}

std::string sentence_of(const UnusualHost& host) {
  return fmt::format(
      "{}{}: {} {}, {} on {} hosts alike{}; p {:.2g}", host.host,
      host.what.empty() ? "" : ", " + host.what, metric_name(host.metric),
      math::quantity_text(host.value, host.unit), math::quantity_text(host.others, host.unit),
      host.peers, host.relative ? fmt::format(" ({:+.0f} %)", math::kPercent * *host.relative) : "",
      host.p);
}

}  // namespace chokepoint::trends
