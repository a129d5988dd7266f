// One PCI device and every function between it and the root port, as /sys/bus/pci/devices shows
// them. The maxima alone do not tell what a card gets: a link may have trained slower or narrower
// at any hop above it. Values, read once below the given root.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/fact.h"
#include "base/host/pci_link.h"
#include "base/sys/root.h"

namespace chokepoint::host {

// Counted by advanced error reporting since boot; nothing where the kernel does not count.
struct PciErrors {
  std::optional<std::int64_t> correctable = {};
  std::optional<std::int64_t> nonfatal = {};
  std::optional<std::int64_t> fatal = {};
};

struct PciHop {
  std::string address = {};  // 0000:3b:00.0
  PciLink current = {};
  PciLink maximum = {};   // what this end of the link can do
  PciLink possible = {};  // what both ends can do
  std::optional<int> payload_bytes = {};
  PciErrors errors = {};
};

struct PciDevice {
  std::string address = {};
  std::optional<std::string> vendor = {};  // 0x8086
  std::optional<std::string> device = {};
  std::optional<std::string> class_code = {};  // 0x020000
  std::optional<std::string> driver = {};
  std::optional<int> numa_node = {};           // nothing where the platform names none
  std::optional<std::string> local_cpus = {};  // "0-15,32-47"
  std::vector<PciHop> path = {};               // root port first, the device itself last
};

// Nothing where there is no such device. A virtual function is read with its physical function's
// path, because its own link registers are empty.
std::optional<PciDevice> read_pci_device(const sys::Root& root, std::string_view address);
void append_facts(const PciDevice& device, Facts& facts);

// "0000:3b:00.0": a domain of at least four digits, bus, device, function.
bool is_pci_address(std::string_view text);

// The last PCI address in a resolved path of sysfs: the device that "…/0000:00:03.0/virtio2" or
// "…/0000:3b:00.0/net/eth0" belongs to.
std::optional<std::string> pci_address_in(std::string_view path);

// The hop that leaves the least bandwidth; null where no hop's link is known.
const PciHop* narrowest_hop(const PciDevice& device);
// The smallest payload along the path, because that is what every packet of the path keeps to.
std::optional<int> payload_of(const PciDevice& device);
// Data a direction that the path leaves; nothing where no hop's link is known.
std::optional<double> ceiling_mbps(const PciDevice& device);

}  // namespace chokepoint::host
