// Which ways a test of throughput would only hang on, by what is known by now: large packets vanish
// there, or tests did not end. Such a test takes its whole bound and tells nothing new, so after a
// few of them a host is spared the rest. Values and pure functions.
#pragma once

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "preflight/result/measured.h"

namespace chokepoint::preflight::lead {

class Hanging {
 public:
  explicit Hanging(const Measured& measured);

  bool is_way(HostIndex from, HostIndex to) const;
  // All that it sends, or all that it receives.
  bool is_host(HostIndex host) const;

 private:
  void add(HostIndex from, HostIndex to);

  std::set<std::pair<HostIndex, HostIndex>> ways_ = {};
  std::vector<std::size_t> sends_ = {};
  std::vector<std::size_t> receives_ = {};
};

}  // namespace chokepoint::preflight::lead
