#include "analysis/web/peers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/math/statistics.h"

namespace chokepoint::analysis::web {
namespace {

constexpr std::size_t kNewest = 5;  // points of a series: one that is off alone does not matter

std::optional<double> newest_level(const history::MeasuredSeries& series, std::int64_t since_ns,
                                   std::int64_t now_ns) {
  std::vector<double> newest;
  for (auto point = series.points.rbegin();
       point != series.points.rend() && newest.size() < kNewest; ++point) {
    if (point->wall_ns >= since_ns && point->wall_ns <= now_ns) {
      newest.push_back(point->value);
    }
  }
  return math::median(newest);
}

// What hosts are compared by: devices of one name are alike, paths are by the host that sends.
using Alike = std::tuple<history::SubjectKind, std::string, std::string, std::string>;

}  // namespace

std::vector<HostUnlikePeers> hosts_unlike_peers(std::span<const history::MeasuredSeries> all,
                                                std::int64_t since_ns, std::int64_t now_ns) {
  std::map<Alike, std::map<std::string, std::vector<double>>> groups;
  for (const history::MeasuredSeries& each : all) {
    const history::Series& series = each.series;
    const auto level = newest_level(each, since_ns, now_ns);
    if (level && !series.subject.host.empty()) {
      groups[{series.subject.kind, series.subject.name, series.metric, series.setting}]
            [series.subject.host]
                .push_back(*level);
    }
  }
  std::vector<HostUnlikePeers> found;
  for (const auto& [alike, hosts] : groups) {
    std::vector<std::string> names;
    std::vector<trends::PeerValue> values;
    for (const auto& [host, levels] : hosts) {
      names.push_back(host);
      values.push_back({.value = *math::median(levels)});
    }
    for (const trends::UnusualPeer& unusual : trends::unusual_peers(values)) {
      found.push_back({.host = names[unusual.peer],
                       .metric = std::get<2>(alike),
                       .setting = std::get<3>(alike),
                       .unusual = unusual,
                       .value = values[unusual.peer].value});
    }
  }
  return found;
}

}  // namespace chokepoint::analysis::web
