// What a device's slot carries, from the narrowest link of its path as it is under load. Pure.
#pragma once

#include <optional>

#include "probe/pcie/device.h"
#include "probe/pcie/outcome.h"

namespace chokepoint::probe::pcie {

struct Ceiling {
  double mbps = 0;  // data in one direction
  host::PciHop hop = {};
  int payload_bytes = host::kUsualPayloadBytes;
  bool payload_is_known = false;
};

// The device with its links as they were under load; a GPU of which nothing was seen under load
// with those that it could have, because an idle one lowers its own.
host::PciDevice under_load(const Device& device, const GpuOutcome* outcome);

std::optional<Ceiling> ceiling_of(const Device& device, const GpuOutcome* outcome);

// Of this device, null where it was not measured.
const GpuOutcome* outcome_of(const Device& device, const std::vector<GpuOutcome>& outcomes);

}  // namespace chokepoint::probe::pcie
