// Clusters that nobody measured, for the tests of what is told of one: hosts with 10 Gb/s ports,
// all pairs measured, and faults put in afterwards, each with the finding that names it.
#pragma once

#include <string>
#include <string_view>

#include "preflight/judge/judge.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight {

struct MadeCluster {
  Measured measured = {};
  Judgement judgement = {};
};

// Without a fault, and so without a finding but what passed.
MadeCluster made_cluster(HostIndex hosts);

PairResult& pair_of(MadeCluster& cluster, HostIndex one, HostIndex other);
PathResult& path_of(MadeCluster& cluster, HostIndex from, HostIndex to);

// Everything of Measured has some value.
MadeCluster full_cluster();

// "two", "four", "eight", "racks", "thousand", "clean", "empty", "hostile", "full".
MadeCluster made_cluster_named(std::string_view kind);

// Text that would break what does not take it for text.
inline const std::string kHostileText =
    "</script><img src=x onerror=\"broken=1\">'\"`&\n\x1b[31m\xff\u202E${x}";

// Puts the finding into its place, the worst first.
void add_finding(MadeCluster& cluster, Finding finding);

void slow_path(MadeCluster& cluster, HostIndex from, HostIndex to);
void lossy_port(MadeCluster& cluster, HostIndex host);
void small_mtu(MadeCluster& cluster, HostIndex host);
void loopback_name(MadeCluster& cluster, HostIndex host);
void absent_host(MadeCluster& cluster, HostIndex host, Presence presence);
void narrow_uplink(MadeCluster& cluster, HostIndex first, HostIndex end);

}  // namespace chokepoint::preflight
