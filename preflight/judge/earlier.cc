#include "preflight/judge/earlier.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace chokepoint::preflight {

Earlier::Earlier(const ClusterInput& scene, const Measured* before) : before_(before) {
  then_.resize(scene.hosts());
  if (before == nullptr) {
    return;
  }
  std::unordered_map<std::string_view, HostIndex> numbers;
  for (HostIndex host = 0; host < before->hosts.size(); ++host) {
    numbers.emplace(before->hosts[host].name, host);
  }
  for (HostIndex host = 0; host < scene.hosts(); ++host) {
    const auto found = numbers.find(scene.name(host));
    if (found != numbers.end()) {
      then_[host] = found->second;
    }
  }
  pairs_.reserve(before->pairs.size());
  for (const PairResult& pair : before->pairs) {
    pairs_.emplace_back(pair_key(pair.a, pair.b), &pair);
  }
  std::ranges::sort(pairs_);
}

std::optional<HostIndex> Earlier::host(HostIndex today) const { return then_[today]; }

const PairResult* Earlier::pair(const Way& way) const {
  if (!then_[way.from] || !then_[way.to]) {
    return nullptr;
  }
  const Key key = pair_key(*then_[way.from], *then_[way.to]);
  const auto found =
      std::ranges::lower_bound(pairs_, key, {}, [](const auto& one) { return one.first; });
  return found != pairs_.end() && found->first == key ? found->second : nullptr;
}

const WayResult* Earlier::way(const Way& way) const {
  const PairResult* found = pair(way);
  if (found == nullptr) {
    return nullptr;
  }
  return found->a == *then_[way.from] ? &found->there : &found->back;
}

}  // namespace chokepoint::preflight
