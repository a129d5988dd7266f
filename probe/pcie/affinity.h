// How near two devices are to each other, by what data between them must pass: the words of
// nvidia-smi's topology matrix. From the bridges that sysfs shows above each. Pure.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "probe/pcie/device.h"

namespace chokepoint::probe::pcie {

// From near to far.
enum class Nearness {
  Same,  // one card
  Pix,   // one bridge or switch
  Pxb,   // several bridges
  Phb,   // the processor's host bridge
  Node,  // between host bridges of one NUMA node
  Sys    // between NUMA nodes
};

std::string_view name_of(Nearness nearness);     // "PIX"
std::string_view meaning_of(Nearness nearness);  // "one bridge or switch"

// Nothing where it cannot be told: between host bridges of nodes that the platform does not name.
std::optional<Nearness> nearness_of(const Device& one, const Device& other, int numa_nodes);

struct Affinity {
  std::size_t one = 0;  // by number among Slots::devices; one < other
  std::size_t other = 0;
  std::optional<Nearness> nearness = {};
};

std::vector<Affinity> affinity_of(const Slots& slots);

// The network's devices that are nearest to this GPU: those that are up, else any. None where it
// cannot be told.
struct Nearest {
  std::vector<std::size_t> devices = {};
  Nearness nearness = Nearness::Sys;
};
std::optional<Nearest> nearest_to(const Slots& slots, std::size_t gpu);

}  // namespace chokepoint::probe::pcie
