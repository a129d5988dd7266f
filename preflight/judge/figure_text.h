// Parts of the text of findings: hosts, paths and the fault's location, and commands that a person
// copies into a shell, with names in them that other hosts reported. No state.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "preflight/judge/cluster_input.h"
#include "preflight/judge/fault_location.h"

namespace chokepoint::preflight {

// "gpu0, gpu1 and 6 more"
std::string names_of(const ClusterInput& input, std::span<const HostIndex> hosts);
// "from gpu0 to gpu1"
std::string words_for(const ClusterInput& input, const DirectedPath& path);
std::string rate_words(double mbps);
// "1 path", "3 paths"
std::string counted(std::size_t number, std::string_view one, std::string_view many);

// "gpu3 eth0, sending", "from gpu0 to gpu1", "gpu0, gpu1 and gpu2, gpu3"
std::string subject_of(const ClusterInput& input, const FaultLocation& location);
// Why the fault lies there: "all it sends suffers, and nothing between the others".
std::string reason_for(const ClusterInput& input, const FaultLocation& location);
// The commands that inspect the ports of the hosts at fault, and what to do about it.
std::string look_at_ports(const ClusterInput& input, const FaultLocation& location);

// The command that repeats a test by hand, against the agent at the other end: "probe tcp", "rdma
// write bw". It asks for the key that the agents were given.
std::string test_by_hand(const ClusterInput& input, HostIndex from, HostIndex to,
                         std::string_view test);

// A finding with place, hosts and ways filled in; no more ways than a page can show.
Finding finding_of(const ClusterInput& input, const FaultLocation& location, std::string id,
                   checks::Status status);

// Those ways, with who sends and who receives.
void add_paths(const ClusterInput& input, std::span<const PathIndex> paths, Finding& finding);

// "the same on gpu1 and gpu2": all but the first; empty where there is one alone.
std::string same_on_others(const ClusterInput& input, std::span<const HostIndex> hosts);

// Quoted as one word of a shell, whatever it contains.
std::string shell_word(const std::string& word);

// The command as it is run on that host, from here: ssh gpu3 'ethtool -S eth0 | grep crc'.
std::string on_host(const std::string& host, const std::string& command);

// Stands between a command and further advice.
inline constexpr std::string_view kNote = "  # ";

// The command, followed by further advice as a shell comment: the line can be pasted as it is.
std::string with_note(const std::string& command, const std::string& note);

}  // namespace chokepoint::preflight
