// How the judgement speaks of hosts, ways and whoever is to blame. Pure functions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "preflight/judge/blame.h"
#include "preflight/judge/scene.h"

namespace chokepoint::preflight {

// "gpu0, gpu1 and 6 more"
std::string names_of(const ClusterInput& scene, std::span<const HostIndex> hosts);
// "from gpu0 to gpu1"
std::string words_for(const ClusterInput& scene, const Way& way);
std::string rate_words(double mbps);
// "1 way", "3 ways"
std::string counted(std::size_t number, std::string_view one, std::string_view many);

// "gpu3 eth0, sending", "from gpu0 to gpu1", "gpu0, gpu1 and gpu2, gpu3"
std::string subject_of(const ClusterInput& scene, const Blame& blame);
// Why these and nobody else: "all it sends suffers, and nothing between the others".
std::string reason_for(const ClusterInput& scene, const Blame& blame);
// The commands that look at the ports of those to blame, and what to do about it.
std::string look_at_ports(const ClusterInput& scene, const Blame& blame);

// A finding about them, with place, hosts and ways filled in; of the ways no more than a page can
// show.
// The same test by hand, against the agent at the other end: "probe tcp", "rdma write bw". It asks
// for the key that the agents were given.
std::string test_by_hand(const ClusterInput& scene, HostIndex from, HostIndex to,
                         std::string_view test);

Finding finding_of(const ClusterInput& scene, const Blame& blame, std::string id,
                   checks::Status status);

}  // namespace chokepoint::preflight
