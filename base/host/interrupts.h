// Which CPUs serve which interrupts, from /proc/interrupts and /proc/irq. A NIC's queues are worth
// no more than the CPUs that drain them. Values, read once below the given root.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/root.h"

namespace chokepoint::host {

using CpuSet = std::vector<int>;  // sorted, each once

struct Interrupt {
  int number = 0;
  std::string name = {};                  // "ice-eth0-TxRx-3"
  std::vector<std::int64_t> counts = {};  // since boot, in the order of the table's CPUs
  std::optional<CpuSet> cpus = {};        // that it is delivered to
};

using InterruptTable = std::map<int, Interrupt>;

// The text of /proc/interrupts. Lines that are no device's interrupt are left out.
InterruptTable parse_interrupts(std::string_view text);
InterruptTable read_interrupts(const sys::Root& root);

// The given ones with the CPUs they are delivered to: the effective ones, or else the allowed ones.
std::vector<Interrupt> read_affinity(const sys::Root& root, const InterruptTable& table,
                                     const std::vector<int>& numbers);

}  // namespace chokepoint::host
