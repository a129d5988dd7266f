#include "preflight/judge/groups.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "preflight/judge/earlier.h"
#include "preflight/judge/expectation.h"
#include "preflight/judge/find_groups.h"
#include "preflight/judge/scene.h"

namespace chokepoint::preflight {
namespace {

constexpr double kWithin = 0.9;   // of the ways within the groups are well
constexpr double kBetween = 0.2;  // of those between them suffer: not in every round many cross
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
std::vector<Tie> ties_of(const ClusterInput& scene, const Expectations& expectations) {
  std::vector<Tie> ties;
  for (const Way& way : scene.ways()) {
    const Expectation expected = expectations.of(way);
    if (!way.result->tcp_mbps || expected.mbps <= 0) {
      continue;
    }
    const double least = expectations.least_in_round(expected);
    ties.push_back({way.from, way.to, *way.result->tcp_mbps < least ? -kSlowPushes : 1.0F});
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
  return between > 0 && within > 0 && within_well >= kWithin * within &&
         between_slow >= kBetween * between;
}

}  // namespace

std::optional<Groups> find_groups(const Measured& measured, const Limits& limits) {
  const ClusterInput scene(measured, limits);
  const Earlier none(scene, nullptr);
  return find_groups(scene, Expectations(scene, none));
}

bool are_groups(const ClusterInput& scene, const Expectations& expectations, const Groups& groups) {
  std::vector<double> place(scene.hosts());
  for (const HostIndex host : groups.first) {
    place[host] = 1;
  }
  for (const HostIndex host : groups.second) {
    place[host] = -1;
  }
  std::vector<Tie> ties = ties_of(scene, expectations);
  std::erase_if(ties, [&](const Tie& tie) { return place[tie.a] == 0 || place[tie.b] == 0; });
  return groups.first.size() >= 2 && groups.second.size() >= 2 && are_groups(ties, place);
}

std::optional<Groups> find_groups(const ClusterInput& scene, const Expectations& expectations) {
  const std::vector<Tie> ties = ties_of(scene, expectations);
  const std::vector<double> place = pull_apart(scene.hosts(), ties);
  Groups groups;
  std::vector<bool> tested(scene.hosts());
  for (const Tie& tie : ties) {
    tested[tie.a] = tested[tie.b] = true;
  }
  for (HostIndex host = 0; host < scene.hosts(); ++host) {
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
