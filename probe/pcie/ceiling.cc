#include "probe/pcie/ceiling.h"

#include <algorithm>

namespace chokepoint::probe::pcie {
namespace {

template <class T>
void prefer(std::optional<T>& kept, const std::optional<T>& told) {
  if (told) {
    kept = told;
  }
}

}  // namespace

host::PciDevice under_load(const Device& device, const GpuOutcome* outcome) {
  host::PciDevice pci = device.pci;
  if (device.kind != Kind::Gpu) {
    return pci;
  }
  const bool was_seen = outcome != nullptr && outcome->link.looks > 0;
  if (was_seen && outcome->link.hops.size() == pci.path.size()) {
    pci.path = outcome->link.hops;
  }
  if (pci.path.empty()) {
    // In a container the driver may show what sysfs does not.
    pci.path.push_back({.address = device.address});
  }
  host::PciHop& own = pci.path.back();
  const host::PciLink& link = was_seen ? outcome->link.best : device.possible;
  prefer(own.current.speed_gts, link.speed_gts);
  prefer(own.current.width, link.width);
  prefer(own.possible.speed_gts, device.possible.speed_gts);
  prefer(own.possible.width, device.possible.width);
  // The other end of the GPU's own link idles with it.
  if (pci.path.size() > 1) {
    pci.path[pci.path.size() - 2].current = own.current;
  }
  return pci;
}

std::optional<Ceiling> ceiling_of(const Device& device, const GpuOutcome* outcome) {
  const host::PciDevice pci = under_load(device, outcome);
  const auto mbps = host::ceiling_mbps(pci);
  const host::PciHop* hop = host::narrowest_hop(pci);
  if (!mbps || hop == nullptr) {
    return std::nullopt;
  }
  const auto payload = host::payload_of(pci);
  return Ceiling{.mbps = *mbps,
                 .hop = *hop,
                 .payload_bytes = payload.value_or(host::kUsualPayloadBytes),
                 .payload_is_known = payload.has_value()};
}

const GpuOutcome* outcome_of(const Device& device, const std::vector<GpuOutcome>& outcomes) {
  const auto found = std::ranges::find(outcomes, device.address, &GpuOutcome::address);
  return device.kind == Kind::Gpu && found != outcomes.end() ? &*found : nullptr;
}

}  // namespace chokepoint::probe::pcie
