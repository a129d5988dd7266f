// One PCI device and every function between it and the root port, as /sys/bus/pci/devices shows
// them. The maxima alone do not show a card's rate: a link may have trained slower or narrower at
// any hop above it. Values, read once below the given root.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/fact.h"
#include "base/sys/root.h"

namespace chokepoint::host {

// What a PCIe link of a given speed, width and payload can carry. Pure: the reader of sysfs and the
// judgement of NICs and GPUs stand on it.

struct PciLink {
  std::optional<double> speed_gts = {};  // 2.5, 5, 8, 16, 32, 64: transfers on each lane
  std::optional<int> width = {};         // lanes

  bool is_known() const { return speed_gts && width; }
  bool operator==(const PciLink&) const = default;
};

// "16.0 GT/s PCIe", "16 GT/s"; nothing for "Unknown" and for what is no speed.
std::optional<double> parse_pci_speed(std::string_view text);

// Generation 4 is 16 GT/s; nothing for what is none.
std::optional<double> speed_of_generation(std::optional<int> generation);

// The payload that most hosts set for a card behind a root port; what is assumed where a host does
// not let the configuration space be read.
inline constexpr int kUsualPayloadBytes = 256;

// Data in one direction in 10^6 bit/s: lanes times speed, less the line's encoding, less the 24
// bytes that frame every packet of `payload_bytes`.
double ceiling_mbps(double speed_gts, int width, int payload_bytes);

// What both ends of a link can do: the lesser speed and the lesser width, each where known.
PciLink common(const PciLink& one, const PciLink& other);
// Is `link` known to be slower or narrower than `possible`?
bool is_below(const PciLink& link, const PciLink& possible);

std::string describe(const PciLink& link);  // "8 GT/s x8"

// The few bits of a PCI function's configuration space that sysfs does not spell out. Pure.

// The payload limit in force (Device Control, Max_Payload_Size), found through the capability list.
// Nothing where the function has no PCI Express capability or the space is cut short, which is what
// an unprivileged reader gets: its first 64 bytes.
std::optional<int> max_payload_bytes(std::string_view config);

// Does this bridge send what one device behind it writes to another up to the processor instead of
// across (ACS Control, P2P Request Redirect or Completion Redirect)? Nothing where the extended
// part of the space, which only root reads, is not there.
std::optional<bool> redirects_peers(std::string_view config);

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
  std::optional<bool> redirects_peers = {};
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
