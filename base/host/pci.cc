#include "base/host/pci.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "base/host/pci_config.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kDevices = "/sys/bus/pci/devices/";

std::vector<std::string> addresses_in(std::string_view path) {
  std::vector<std::string> addresses;
  for (const auto part : std::views::split(path, '/')) {
    const std::string_view name(part.begin(), part.end());
    if (is_pci_address(name)) {
      addresses.emplace_back(name);
    }
  }
  return addresses;
}

std::string last_part(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

PciLink read_link(const sys::Root& root, const std::string& folder, const std::string& which) {
  PciLink link;
  if (const auto speed = root.text(folder + which + "_link_speed")) {
    link.speed_gts = parse_pci_speed(*speed);
  }
  // A function without a link of its own reports 0 lanes, one that fell off the bus reports 63.
  const std::optional<std::int64_t> width = root.number(folder + which + "_link_width");
  if (width && *width > 0 && *width <= 32) {
    link.width = static_cast<int>(*width);
  }
  return link;
}

// The line "TOTAL_ERR_COR 12" of aer_dev_correctable and its like.
std::optional<std::int64_t> total_of(const std::optional<std::string>& counts) {
  constexpr std::string_view kTotal = "TOTAL_ERR_";
  const std::size_t total = counts ? counts->rfind(kTotal) : std::string::npos;
  if (total == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t space = counts->find(' ', total);
  std::int64_t value = 0;
  if (space == std::string::npos || std::sscanf(counts->c_str() + space, "%ld", &value) != 1) {
    return std::nullopt;
  }
  return value;
}

// A hypervisor's ports make up their speed and width: QEMU's, VMware's.
bool is_emulated(const sys::Root& root, const std::string& folder) {
  const auto vendor = root.text(folder + "vendor");
  return vendor == "0x1b36" || vendor == "0x15ad";
}

PciHop read_hop(const sys::Root& root, const std::string& address) {
  const std::string folder = fmt::format("{}{}/", kDevices, address);
  const bool emulated = is_emulated(root, folder);
  PciHop hop{.address = address,
             .current = emulated ? PciLink() : read_link(root, folder, "current"),
             .maximum = emulated ? PciLink() : read_link(root, folder, "max"),
             .errors = {.correctable = total_of(root.text(folder + "aer_dev_correctable")),
                        .nonfatal = total_of(root.text(folder + "aer_dev_nonfatal")),
                        .fatal = total_of(root.text(folder + "aer_dev_fatal"))}};
  hop.possible = hop.maximum;
  if (const Result<std::string> config = root.read(folder + "config")) {
    hop.payload_bytes = max_payload_bytes(*config);
  }
  return hop;
}

// A path alternates: the port above a link, the port below it. Root port and switch, then the
// switch's other side and the card.
void pair_ends(std::vector<PciHop>& path) {
  for (std::size_t lower = 1; lower < path.size(); lower += 2) {
    PciHop& above = path[lower - 1];
    PciHop& below = path[lower];
    above.possible = below.possible = common(above.maximum, below.maximum);
  }
}

// Behind a hypervisor's port the guest's payload reaches no card: what the host has set counts.
void leave_out_payloads(const sys::Root& root, std::vector<PciHop>& path) {
  const bool any_emulated = std::ranges::any_of(path, [&](const PciHop& hop) {
    return is_emulated(root, fmt::format("{}{}/", kDevices, hop.address));
  });
  if (any_emulated) {
    for (PciHop& hop : path) {
      hop.payload_bytes.reset();
    }
  }
}

std::vector<PciHop> read_path(const sys::Root& root, const std::string& folder) {
  const std::optional<std::string> physical = root.resolve(folder + "/physfn");
  const std::optional<std::string> real = physical ? physical : root.resolve(folder);
  std::vector<PciHop> path;
  for (const std::string& address : addresses_in(real.value_or(folder))) {
    path.push_back(read_hop(root, address));
  }
  pair_ends(path);
  leave_out_payloads(root, path);
  return path;
}

std::optional<double> ceiling_of(const PciHop& hop, int payload_bytes) {
  if (!hop.current.is_known()) {
    return std::nullopt;
  }
  return ceiling_mbps(*hop.current.speed_gts, *hop.current.width, payload_bytes);
}

}  // namespace

bool is_pci_address(std::string_view text) {
  constexpr std::string_view kTail = ":xx:xx.x";
  if (text.size() < 4 + kTail.size()) {
    return false;
  }
  const std::size_t domain = text.size() - kTail.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char shape = i < domain ? 'x' : kTail[i - domain];
    const bool hexadecimal = std::string_view("0123456789abcdef").contains(text[i]);
    if (shape == 'x' ? !hexadecimal : text[i] != shape) {
      return false;
    }
  }
  return true;
}

std::optional<std::string> pci_address_in(std::string_view path) {
  std::vector<std::string> addresses = addresses_in(path);
  if (addresses.empty()) {
    return std::nullopt;
  }
  return std::move(addresses.back());
}

std::optional<PciDevice> read_pci_device(const sys::Root& root, std::string_view address) {
  const std::string folder = fmt::format("{}{}", kDevices, address);
  if (!root.exists(folder)) {
    return std::nullopt;
  }
  PciDevice device{.address = std::string(address),
                   .vendor = root.text(folder + "/vendor"),
                   .device = root.text(folder + "/device"),
                   .class_code = root.text(folder + "/class"),
                   .driver = root.resolve(folder + "/driver").transform(last_part),
                   .numa_node = {},
                   .local_cpus = root.text(folder + "/local_cpulist"),
                   .path = read_path(root, folder)};
  const std::optional<std::int64_t> node = root.number(folder + "/numa_node");
  if (node && *node >= 0) {
    device.numa_node = static_cast<int>(*node);
  }
  return device;
}

std::optional<int> payload_of(const PciDevice& device) {
  std::optional<int> smallest;
  for (const PciHop& hop : device.path) {
    if (hop.payload_bytes) {
      smallest = std::min(smallest.value_or(*hop.payload_bytes), *hop.payload_bytes);
    }
  }
  return smallest;
}

const PciHop* narrowest_hop(const PciDevice& device) {
  const PciHop* narrowest = nullptr;
  double least = 0;
  // From the card upwards: of two ends of one link the lower one is named.
  for (const PciHop& hop : device.path | std::views::reverse) {
    const std::optional<double> ceiling = ceiling_of(hop, kUsualPayloadBytes);
    if (ceiling && (narrowest == nullptr || *ceiling < least)) {
      narrowest = &hop;
      least = *ceiling;
    }
  }
  return narrowest;
}

std::optional<double> ceiling_mbps(const PciDevice& device) {
  const PciHop* hop = narrowest_hop(device);
  if (hop == nullptr) {
    return std::nullopt;
  }
  return ceiling_of(*hop, payload_of(device).value_or(kUsualPayloadBytes));
}

}  // namespace chokepoint::host
