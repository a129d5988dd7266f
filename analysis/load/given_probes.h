// Documents of probes that a command line names in addition to a run: ceilings that were measured
// before, and that are not in the run's record. They join the probes of the node that ran them, so
// that every reader of those has them. A document is untrusted: bounded, and what is wrong with it
// is an Error that names its file. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "analysis/load/run_data.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

inline constexpr std::size_t kMaxGivenBytes = std::size_t{16} << 20;

struct GivenProbe {
  std::string file = {};
  std::string host = {};          // that ran it
  std::string peer_address = {};  // empty: it has no peer
  std::string own_address = {};   // of a tool that does not name its host
  std::string device = {};        // of RDMA, likewise
  std::int64_t wall_ns = 0;       // when it began
  record::Probe row = {};         // but for its moment
};

Result<GivenProbe> given_probe(std::string_view text, const std::string& file);

// Among the probes of the node that ran it: by its host's name, and where several nodes have that,
// as namespaces of one machine do, the one of two that has not the peer's address. What names no
// host belongs to the node that has its own address, else to the only one that has its device. An
// Error where no node can be identified.
Result<> add_to(RunData& run, const GivenProbe& given);

// "probe 3 tcp of a"; of a given one its file.
std::string source_of(const NodeData& node, const record::Probe& probe);

}  // namespace chokepoint::analysis
