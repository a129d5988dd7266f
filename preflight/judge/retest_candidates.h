// What is tested again after the rounds: slow paths with no other test running, which distinguishes
// a slow link from a shared one, and a cut between two groups of hosts. No I/O; the caller's
// thread.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "preflight/judge/cluster_input.h"
#include "preflight/judge/expectation.h"
#include "preflight/judge/limits.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight {

// At most `most` ways, from the first host to the second: first the slowest way of each affected
// host, then each one's next, so that few repeats cover as many hosts as possible.
std::vector<std::pair<HostIndex, HostIndex>> suspects(const Measured& measured,
                                                      const Limits& limits, std::size_t most);

// At most `most` ways, one of each pair, whose two ends may be joined by parallel links of which
// one is bad, so that a flow passes or fails by its ports: first those that were slow in their
// round and well alone, then those that lose or are slow while both hosts are well with others.
std::vector<std::pair<HostIndex, HostIndex>> bundle_suspects(const Measured& measured,
                                                             const Limits& limits,
                                                             std::size_t most);

using Groups = std::pair<std::vector<HostIndex>, std::vector<HostIndex>>;

// Two groups that are slow with each other while many ways are tested, and fast among themselves:
// they share a link between them, and a test across it shows what that carries. By the rates of the
// rounds; each group has at least two hosts, in order.
std::optional<Groups> find_groups(const Measured& measured, const Limits& limits);
std::optional<Groups> find_groups(const ClusterInput& input, const Expectations& expectations);
// Whether these groups are such.
bool are_groups(const ClusterInput& input, const Expectations& expectations, const Groups& groups);

}  // namespace chokepoint::preflight
