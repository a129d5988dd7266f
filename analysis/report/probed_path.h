// Which way between nodes a probe measured: its peer is told by an address or a name that one of
// the nodes has. Pure.
#pragma once

#include <optional>
#include <string>

#include "analysis/load/probe_document.h"
#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

// The other node's name; else what the probe calls its peer.
std::string peer_of(const RunData& run, const NodeData& prober, const record::Probe& probe,
                    const ProbeDocument& document);

std::string family_of(const std::optional<net::Address>& address);  // "ipv4", or empty

// The best that a probe measured, from one node to another.
std::optional<double> probed_mbps(const RunData& run, const std::string& from,
                                  const std::string& to, const std::string& family);

}  // namespace chokepoint::analysis
