// Paths on which a throughput test would only hang, by what is known so far: large packets are
// lost there, or tests did not end. Such a test takes its whole time limit and shows nothing new,
// so after a few of them the rest of that host's tests are skipped. Built once of what is
// measured; a value.
#pragma once

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "preflight/task/measured.h"

namespace chokepoint::preflight::coordinator {

class Hanging {
 public:
  explicit Hanging(const Measured& measured);

  bool contains(HostIndex from, HostIndex to) const;
  // All that it sends, or all that it receives.
  bool is_host(HostIndex host) const;

 private:
  void add(HostIndex from, HostIndex to);

  std::set<std::pair<HostIndex, HostIndex>> paths_ = {};
  std::vector<std::size_t> sends_ = {};
  std::vector<std::size_t> receives_ = {};
};

}  // namespace chokepoint::preflight::coordinator
