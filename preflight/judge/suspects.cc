#include "preflight/judge/suspects.h"

#include <algorithm>
#include <tuple>

#include "preflight/judge/earlier.h"
#include "preflight/judge/expectation.h"
#include "preflight/judge/scene.h"

namespace chokepoint::preflight {
namespace {

struct Suspect {
  double share = 0;  // of what it should carry
  WayIndex way = 0;
  std::uint32_t turn = 0;
};

std::vector<Suspect> slow_ways(const ClusterInput& scene, const Expectations& expectations) {
  std::vector<Suspect> slow;
  for (WayIndex index = 0; index < scene.ways().size(); ++index) {
    const Way& way = scene.ways()[index];
    const Expectation expected = expectations.of(way);
    const Figure rate = way.result->tcp_mbps;
    if (!rate || way.result->alone_mbps || expected.mbps <= 0) {
      continue;
    }
    if (*rate < expectations.least_in_round(expected)) {
      slow.push_back({*rate / expected.mbps, index});
    }
  }
  return slow;
}

}  // namespace

std::vector<std::pair<HostIndex, HostIndex>> suspects(const Measured& measured,
                                                      const Limits& limits, std::size_t most) {
  const ClusterInput scene(measured, limits);
  const Earlier none(scene, nullptr);
  const Expectations expectations(scene, none);
  std::vector<Suspect> slow = slow_ways(scene, expectations);
  std::ranges::sort(slow, {}, [](const Suspect& one) { return std::pair(one.share, one.way); });
  std::vector<std::uint32_t> sent(scene.hosts());
  std::vector<std::uint32_t> received(scene.hosts());
  for (Suspect& one : slow) {
    const Way& way = scene.ways()[one.way];
    one.turn = std::max(sent[way.from]++, received[way.to]++);
  }
  std::ranges::stable_sort(slow, {}, &Suspect::turn);
  std::vector<std::pair<HostIndex, HostIndex>> result;
  for (const Suspect& one : slow) {
    if (result.size() >= most) {
      break;
    }
    result.emplace_back(scene.ways()[one.way].from, scene.ways()[one.way].to);
  }
  return result;
}

}  // namespace chokepoint::preflight
