// What the PCIe path of a card carries now against what the card itself could, from the facts of
// its host and what was read while the job ran. Values; pcie_of() is pure.
#pragma once

#include <optional>
#include <string>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

struct PciePicture {
  std::string bus_id = {};
  std::optional<double> speed_gts = {};  // as the narrowest hop was trained, at work if seen so
  std::optional<int> width = {};
  std::optional<double> max_speed_gts = {};  // of the card alone
  std::optional<int> max_width = {};
  std::optional<double> ceiling_mbps = {};   // data one way
  std::optional<double> possible_mbps = {};  // likewise, in a slot as good as the card
  std::string source = {};
};

// `bus_id`: empty where the host did not tell it. `subject`: the card in the series, an interface's
// name or the GPU's address. Nothing where no link of it is known.
std::optional<PciePicture> pcie_of(const NodeData& node, const std::string& bus_id,
                                   const std::string& subject);

}  // namespace chokepoint::analysis
