// The results of copies, as values: what could not be measured is nullopt. Rates are in 10^6
// bit/s; "both" is the sum of both directions at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/documents/pcie.h"
#include "base/host/pci.h"

namespace chokepoint::probe::pcie {

using HostCopies = documents::PcieCopies;

// How a device's links were trained, and what they counted, while copies were under way.
struct LinkSeen {
  host::PciLink idle = {};              // before the first copy
  host::PciLink best = {};              // of all looks under load
  host::PciLink last = {};              // of the last look under load
  std::vector<host::PciHop> hops = {};  // as found, each with the best link that was seen
  int looks = 0;                        // under load; 0: only the idle link is known
  std::optional<std::int64_t> replays_before = {};
  std::optional<std::int64_t> replays_after = {};
  std::optional<std::int64_t> errors_before = {};  // of advanced error reporting, over all hops
  std::optional<std::int64_t> errors_after = {};
};

struct GpuOutcome {
  int number = 0;  // CUDA's
  std::string address = {};
  std::string name = {};
  std::optional<int> engines = {};
  std::uint64_t bytes = 0;  // of a copy
  std::optional<int> near_node = {};
  std::optional<int> far_node = {};
  bool anywhere = false;  // "near" memory is wherever the kernel put it: its node's cannot be had
  HostCopies pinned = {};
  HostCopies pageable = {};
  HostCopies far = {};                          // pinned, on another NUMA node
  std::optional<double> two_streams_mbps = {};  // to the GPU, together
  LinkSeen link = {};
  std::uint64_t verified_bytes = 0;
  std::vector<std::string> wrong = {};     // what did not arrive as it was sent
  std::vector<std::string> problems = {};  // what could not be measured, and why
};

using PeerCopies = documents::PciePeerCopies;

using PeerOutcome = documents::PciePeers;

}  // namespace chokepoint::probe::pcie
