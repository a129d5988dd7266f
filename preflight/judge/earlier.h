// The last time's figures, found by the names that hosts had then. Points into what it was given.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "preflight/judge/scene.h"

namespace chokepoint::preflight {

class Earlier {
 public:
  Earlier(const ClusterInput& scene, const Measured* before);

  bool is_known() const { return before_ != nullptr; }
  const Measured* before() const { return before_; }
  // This way's, and its pair's, the last time; null where it was not tested.
  const WayResult* way(const Way& way) const;
  const PairResult* pair(const Way& way) const;
  // The host of today's, as it was numbered then.
  std::optional<HostIndex> host(HostIndex today) const;

 private:
  using Key = std::uint64_t;

  const Measured* before_;
  std::vector<std::optional<HostIndex>> then_;            // by today's number
  std::vector<std::pair<Key, const PairResult*>> pairs_;  // sorted, by the numbers of then
};

}  // namespace chokepoint::preflight
