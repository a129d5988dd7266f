#include "preflight/judge/retest_candidates.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "preflight/judge/cluster_input.h"
#include "preflight/judge/expectation.h"

namespace chokepoint::preflight {
namespace {

struct Suspect {
  double share = 0;  // of what it should carry
  PathIndex path = 0;
  std::uint32_t turn = 0;
};

std::vector<Suspect> slow_paths(const ClusterInput& input, const Expectations& expectations) {
  std::vector<Suspect> slow;
  for (PathIndex index = 0; index < input.paths().size(); ++index) {
    const DirectedPath& path = input.paths()[index];
    const Expectation expected = expectations.of(path);
    const Figure rate = path.result->tcp_mbps;
    if (!rate || path.result->alone_mbps || expected.mbps <= 0) {
      continue;
    }
    if (*rate < expectations.least_in_round(expected)) {
      slow.push_back({*rate / expected.mbps, index});
    }
  }
  return slow;
}

// A few lost packets are no sign of a fault.
bool is_lossy(const ClusterInput& input, const PathResult& path) {
  constexpr std::uint32_t kMinLost = 3;
  return path.lost >= kMinLost &&
         100.0 * path.lost > input.limits().loss_critical_percent * path.packets;
}

// First the ways that were slow in their round and well alone, the slowest of them first; then
// those that lose or are slow though the sender sends well to another host and the receiver
// receives well from one.
std::vector<PathIndex> paths_that_fail_by_flow(const ClusterInput& input, const Speeds& speeds) {
  std::vector<PathIndex> shared;
  std::vector<PathIndex> others;
  std::vector<bool> sends_well(input.hosts());
  std::vector<bool> receives_well(input.hosts());
  for (PathIndex index = 0; index < input.paths().size(); ++index) {
    const DirectedPath& path = input.paths()[index];
    const bool is_retested = path.result->alone_mbps.has_value();
    if (is_lossy(input, *path.result) || (speeds.speed[index] == Speed::Slow && is_retested)) {
      others.push_back(index);
    } else if (speeds.speed[index] == Speed::Shared && is_retested) {
      shared.push_back(index);
    } else if (speeds.speed[index] == Speed::Well) {
      sends_well[path.from] = receives_well[path.to] = true;
    }
  }
  std::erase_if(others, [&](PathIndex index) {
    const DirectedPath& path = input.paths()[index];
    return !sends_well[path.from] || !receives_well[path.to];
  });
  std::ranges::sort(shared, {},
                    [&](PathIndex index) { return *input.paths()[index].result->tcp_mbps; });
  shared.insert(shared.end(), others.begin(), others.end());
  return shared;
}

// The shares of two groups' paths: within the groups so many are well, and between them so many
// suffer. Few cross in some rounds, and then have what the groups share to themselves.
constexpr double kMinWellWithin = 0.9;
constexpr double kMinSlowBetween = 0.2;
// Of two that are slow with each other something between them is; two that are well may have had
// what their groups share to themselves.
constexpr float kSlowPushes = 3;
constexpr int kSteps = 60;

struct Tie {
  HostIndex a = 0;
  HostIndex b = 0;
  float value = 0;  // 1: at full speed with each other; below 0: slow
};

// A way in its round: at full speed or slow.
std::vector<Tie> ties_of(const ClusterInput& input, const Expectations& expectations) {
  std::vector<Tie> ties;
  for (const DirectedPath& path : input.paths()) {
    const Expectation expected = expectations.of(path);
    if (!path.result->tcp_mbps || expected.mbps <= 0) {
      continue;
    }
    const double least = expectations.least_in_round(expected);
    ties.push_back({path.from, path.to, *path.result->tcp_mbps < least ? -kSlowPushes : 1.0F});
  }
  return ties;
}

// The direction in which the ties pull the hosts apart the most, by power iteration. Begins the
// same for the same hosts, so that it ends the same.
std::vector<double> pull_apart(std::size_t hosts, const std::vector<Tie>& ties) {
  std::vector<double> degree(hosts);
  for (const Tie& tie : ties) {
    degree[tie.a] += std::abs(tie.value);
    degree[tie.b] += std::abs(tie.value);
  }
  std::vector<double> place(hosts);
  std::uint32_t seed = 1;
  for (double& one : place) {
    seed = seed * 1664525U + 1013904223U;
    one = 0.5 + static_cast<double>(seed >> 8) / static_cast<double>(1U << 24);
    one *= (seed & 0x80000000U) != 0 ? 1 : -1;
  }
  for (int step = 0; step < kSteps; ++step) {
    std::vector<double> next(hosts);
    for (std::size_t host = 0; host < hosts; ++host) {
      next[host] = degree[host] * place[host];  // so that the greatest value is the one sought
    }
    for (const Tie& tie : ties) {
      next[tie.a] += static_cast<double>(tie.value) * place[tie.b];
      next[tie.b] += static_cast<double>(tie.value) * place[tie.a];
    }
    double most = 0;
    for (const double one : next) {
      most = std::max(most, std::abs(one));
    }
    for (std::size_t host = 0; host < hosts; ++host) {
      place[host] = most > 0 ? next[host] / most : 0;
    }
  }
  return place;
}

bool are_groups(const std::vector<Tie>& ties, const std::vector<double>& place) {
  double within = 0;
  double within_well = 0;
  double between = 0;
  double between_slow = 0;
  for (const Tie& tie : ties) {
    const bool same = (place[tie.a] < 0) == (place[tie.b] < 0);
    (same ? within : between) += 1;
    (same ? within_well : between_slow) += (tie.value > 0) == same ? 1 : 0;
  }
  return between > 0 && within > 0 && within_well >= kMinWellWithin * within &&
         between_slow >= kMinSlowBetween * between;
}

}  // namespace

std::vector<std::pair<HostIndex, HostIndex>> suspects(const Measured& measured,
                                                      const Limits& limits, std::size_t most) {
  const ClusterInput input(measured, limits);
  const Earlier none(input, nullptr);
  const Expectations expectations(input, none);
  std::vector<Suspect> slow = slow_paths(input, expectations);
  std::ranges::sort(slow, {}, [](const Suspect& one) { return std::pair(one.share, one.path); });
  std::vector<std::uint32_t> sent(input.hosts());
  std::vector<std::uint32_t> received(input.hosts());
  for (Suspect& one : slow) {
    const DirectedPath& path = input.paths()[one.path];
    one.turn = std::max(sent[path.from]++, received[path.to]++);
  }
  std::ranges::stable_sort(slow, {}, &Suspect::turn);
  std::vector<std::pair<HostIndex, HostIndex>> result;
  for (const Suspect& one : slow) {
    if (result.size() >= most) {
      break;
    }
    result.emplace_back(input.paths()[one.path].from, input.paths()[one.path].to);
  }
  return result;
}

std::vector<std::pair<HostIndex, HostIndex>> bundle_suspects(const Measured& measured,
                                                             const Limits& limits,
                                                             std::size_t most) {
  const ClusterInput input(measured, limits);
  const Earlier none(input, nullptr);
  const Expectations expectations(input, none);
  const Speeds speeds = speeds_of(input, expectations);
  const std::vector<PathIndex> paths = paths_that_fail_by_flow(input, speeds);
  std::vector<std::pair<HostIndex, HostIndex>> result;
  std::set<std::uint64_t> pairs;
  for (const PathIndex index : paths) {
    const DirectedPath& path = input.paths()[index];
    if (result.size() < most && pairs.insert(pair_key(path.from, path.to)).second) {
      result.emplace_back(path.from, path.to);
    }
  }
  return result;
}

std::optional<Groups> find_groups(const Measured& measured, const Limits& limits) {
  const ClusterInput input(measured, limits);
  const Earlier none(input, nullptr);
  return find_groups(input, Expectations(input, none));
}

bool are_groups(const ClusterInput& input, const Expectations& expectations, const Groups& groups) {
  std::vector<double> place(input.hosts());
  for (const HostIndex host : groups.first) {
    place[host] = 1;
  }
  for (const HostIndex host : groups.second) {
    place[host] = -1;
  }
  std::vector<Tie> ties = ties_of(input, expectations);
  std::erase_if(ties, [&](const Tie& tie) { return place[tie.a] == 0 || place[tie.b] == 0; });
  return groups.first.size() >= 2 && groups.second.size() >= 2 && are_groups(ties, place);
}

std::optional<Groups> find_groups(const ClusterInput& input, const Expectations& expectations) {
  const std::vector<Tie> ties = ties_of(input, expectations);
  const std::vector<double> place = pull_apart(input.hosts(), ties);
  Groups groups;
  std::vector<bool> tested(input.hosts());
  for (const Tie& tie : ties) {
    tested[tie.a] = tested[tie.b] = true;
  }
  for (HostIndex host = 0; host < input.hosts(); ++host) {
    if (tested[host]) {
      (place[host] < 0 ? groups.second : groups.first).push_back(host);
    }
  }
  if (groups.first.size() < 2 || groups.second.size() < 2 || !are_groups(ties, place)) {
    return std::nullopt;
  }
  if (groups.second.front() < groups.first.front()) {
    std::swap(groups.first, groups.second);
  }
  return groups;
}

}  // namespace chokepoint::preflight
