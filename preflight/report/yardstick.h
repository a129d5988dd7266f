// What a way between two hosts should carry, so that what it carried can be shown as a share of it:
// what the slower of both hosts' links and slots gives. Where a link's speed is not known (made-up
// interfaces have none), the fastest way that was measured, unless the other link gives less. The
// judgement has its own limits; this is what pictures are coloured by. Values and pure functions.
#pragma once

#include <optional>
#include <vector>

#include "preflight/result/measured.h"

namespace chokepoint::preflight {

// Of the interface that the host was reached at: its link's speed or its slot's, whatever is less.
std::optional<double> link_mbps(const HostResult& host);

// What the way reached: alone, where it was measured so, else beside the other pairs of its round.
Figure throughput_mbps(const WayResult& way);

class Yardstick {
 public:
  explicit Yardstick(const Measured& measured);

  std::optional<double> mbps(HostIndex from, HostIndex to) const;
  Figure share(HostIndex from, HostIndex to, const WayResult& way) const;
  // Whether it is by links' speeds, for all of the hosts or some.
  bool is_by_links() const { return by_links_; }

 private:
  std::vector<std::optional<double>> links_;
  std::optional<double> fastest_;
  bool by_links_ = false;
};

}  // namespace chokepoint::preflight
