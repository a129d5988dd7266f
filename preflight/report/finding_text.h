// What pages and documents of a preflight share: the result in a sentence, and the rate to which
// they compare each way. No state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "preflight/judge/judge.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight {

// The result in one line, for every page: "4 hosts, 6 pairs: gpu3: 94.1 Mb/s (wanted: 1 Gb/s); 2
// more findings", without line ends.
std::string sentence_of(const Measured& measured, const Judgement& judgement);

// The rate of the interface at which the host was reached: its link's or its slot's, whichever is
// less.
std::optional<double> link_mbps(const HostResult& host);

// The rate of the way alone, if it was measured so, else beside the other pairs of its round.
Figure throughput_mbps(const PathResult& path);

// The rate that a way should carry, of which pages show what it carried as a share: the slower of
// both hosts' links and slots. If a link's speed is not known (virtual interfaces have none), the
// fastest way that was measured, unless the other link is slower. The judgement has its own limits.
class ExpectedRates {
 public:
  explicit ExpectedRates(const Measured& measured);

  std::optional<double> mbps(HostIndex from, HostIndex to) const;
  Figure share(HostIndex from, HostIndex to, const PathResult& path) const;
  // Whether it is by links' speeds, for all of the hosts or some.
  bool is_by_links() const { return by_links_; }

 private:
  std::vector<std::optional<double>> links_;
  std::optional<double> fastest_;
  bool by_links_ = false;
};

}  // namespace chokepoint::preflight
