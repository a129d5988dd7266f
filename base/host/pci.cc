#include "base/host/pci.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ranges>

#include "base/host/kernel_text.h"

namespace chokepoint::host {
namespace {

// Sequence number, header, address, checksum and framing of a memory write.
constexpr double kFramingBytes = 24;

// 8b/10b in Gen1 and Gen2, 128b/130b in Gen3 to Gen5, 242 of 256 bytes of a flit from Gen6 on.
double encoding_of(double speed_gts) {
  if (speed_gts <= 5) {
    return 8.0 / 10;
  }
  return speed_gts <= 32 ? 128.0 / 130 : 242.0 / 256;
}

template <class T>
std::optional<T> lesser(std::optional<T> one, std::optional<T> other) {
  return one && other ? std::min(one, other) : one ? one : other;
}

}  // namespace

std::optional<double> parse_pci_speed(std::string_view text) {
  double speed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), speed);
  const std::string_view unit(end, text.data() + text.size());
  constexpr double kMaxSpeedGts = 1024;
  // Which "nan" is not.
  const bool possible = speed > 0 && speed <= kMaxSpeedGts;
  if (error != std::errc() || !unit.starts_with(" GT/s") || !possible) {
    return std::nullopt;
  }
  return speed;
}

std::optional<double> speed_of_generation(std::optional<int> generation) {
  constexpr std::array kSpeeds = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  if (!generation || *generation < 1 || *generation > static_cast<int>(kSpeeds.size())) {
    return std::nullopt;
  }
  return kSpeeds[static_cast<std::size_t>(*generation) - 1];
}

double ceiling_mbps(double speed_gts, int width, int payload_bytes) {
  const double raw = speed_gts * 1000 * encoding_of(speed_gts) * width;
  return raw * payload_bytes / (payload_bytes + kFramingBytes);
}

PciLink common(const PciLink& one, const PciLink& other) {
  return {.speed_gts = lesser(one.speed_gts, other.speed_gts),
          .width = lesser(one.width, other.width)};
}

bool is_below(const PciLink& link, const PciLink& possible) {
  const bool slower = link.speed_gts && possible.speed_gts && *link.speed_gts < *possible.speed_gts;
  const bool narrower = link.width && possible.width && *link.width < *possible.width;
  return slower || narrower;
}

std::string describe(const PciLink& link) {
  return fmt::format("{} {}", link.speed_gts ? fmt::format("{} GT/s", *link.speed_gts) : "? GT/s",
                     link.width ? fmt::format("x{}", *link.width) : "x?");
}

namespace {

constexpr std::size_t kStatusOffset = 0x06;
constexpr unsigned kStatusHasCapabilities = 0x10;
constexpr std::size_t kCapabilityPointer = 0x34;
constexpr std::size_t kFirstCapability = 0x40;
constexpr unsigned kPciExpress = 0x10;
constexpr std::size_t kDeviceControl = 8;
// 256 bytes in steps of 4: a longer chain runs in a circle.
constexpr int kMaxCapabilities = 48;

std::optional<unsigned> byte_at(std::string_view config, std::size_t offset) {
  if (offset >= config.size()) {
    return std::nullopt;
  }
  return static_cast<unsigned char>(config[offset]);
}

std::optional<std::size_t> find_capability(std::string_view config, unsigned wanted) {
  const std::optional<unsigned> status = byte_at(config, kStatusOffset);
  if (!status || (*status & kStatusHasCapabilities) == 0) {
    return std::nullopt;
  }
  std::optional<unsigned> next = byte_at(config, kCapabilityPointer);
  for (int i = 0; i < kMaxCapabilities && next; ++i) {
    const std::size_t offset = *next & 0xfcU;
    if (offset < kFirstCapability) {
      return std::nullopt;
    }
    const std::optional<unsigned> id = byte_at(config, offset);
    if (id == wanted) {
      return offset;
    }
    next = byte_at(config, offset + 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> max_payload_bytes(std::string_view config) {
  const std::optional<std::size_t> capability = find_capability(config, kPciExpress);
  if (!capability) {
    return std::nullopt;
  }
  const std::optional<unsigned> control = byte_at(config, *capability + kDeviceControl);
  const unsigned exponent = control.value_or(0) >> 5;
  if (!control || exponent > 5) {
    return std::nullopt;
  }
  return 128 << exponent;
}

namespace {

constexpr std::size_t kFirstExtended = 0x100;
constexpr std::size_t kConfigBytes = 0x1000;
constexpr unsigned kAccessControl = 0x0d;
constexpr std::size_t kAcsControl = 6;
constexpr unsigned kAcsRedirects = 0x04 | 0x08;  // of requests, of completions
constexpr int kMaxExtended = (kConfigBytes - kFirstExtended) / 8;

// Where the extended capability with this number begins; 0 where there is none.
std::optional<std::size_t> find_extended(std::string_view config, unsigned wanted) {
  std::size_t offset = kFirstExtended;
  for (int i = 0; i < kMaxExtended && offset >= kFirstExtended; ++i) {
    const auto low = byte_at(config, offset);
    const auto high = byte_at(config, offset + 1);
    const auto version_and_next = byte_at(config, offset + 2);
    const auto next = byte_at(config, offset + 3);
    if (!low || !high || !version_and_next || !next) {
      return std::nullopt;
    }
    if ((*low | *high << 8) == wanted) {
      return offset;
    }
    offset = std::size_t{*next} << 4 | *version_and_next >> 4;
  }
  return 0;
}

}  // namespace

std::optional<bool> redirects_peers(std::string_view config) {
  const std::optional<std::size_t> capability = find_extended(config, kAccessControl);
  if (!capability || *capability == 0) {
    return capability ? std::optional(false) : std::nullopt;
  }
  const std::optional<unsigned> control = byte_at(config, *capability + kAcsControl);
  return control ? std::optional((*control & kAcsRedirects) != 0) : std::nullopt;
}

namespace {

constexpr std::string_view kPciDevices = "/sys/bus/pci/devices/";

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
  const std::string folder = fmt::format("{}{}/", kPciDevices, address);
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
    hop.redirects_peers = emulated ? std::nullopt : redirects_peers(*config);
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

// Behind a hypervisor's port the virtual machine's maximum payload has no effect on the card: the
// host's setting counts.
void leave_out_payloads(const sys::Root& root, std::vector<PciHop>& path) {
  const bool any_emulated = std::ranges::any_of(path, [&](const PciHop& hop) {
    return is_emulated(root, fmt::format("{}{}/", kPciDevices, hop.address));
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
  const std::string folder = fmt::format("{}{}", kPciDevices, address);
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

namespace {

class PciFactWriter {
 public:
  PciFactWriter(std::string address, Facts& facts) : address_(std::move(address)), facts_(facts) {}

  template <class T>
  void add(const char* key, const std::optional<T>& value, const char* file) {
    if (value) {
      facts_.push_back({"pci", address_, key, fmt::format("{}", *value),
                        fmt::format("/sys/bus/pci/devices/{}/{}", address_, file)});
    }
  }

 private:
  std::string address_;
  Facts& facts_;
};

void append_hop(const PciHop& hop, Facts& facts) {
  PciFactWriter writer(hop.address, facts);
  writer.add("speed_gts", hop.current.speed_gts, "current_link_speed");
  writer.add("width", hop.current.width, "current_link_width");
  writer.add("max_speed_gts", hop.maximum.speed_gts, "max_link_speed");
  writer.add("max_width", hop.maximum.width, "max_link_width");
  writer.add("payload_bytes", hop.payload_bytes, "config");
  writer.add("redirects_peers", hop.redirects_peers, "config");
  writer.add("errors_correctable", hop.errors.correctable, "aer_dev_correctable");
  writer.add("errors_nonfatal", hop.errors.nonfatal, "aer_dev_nonfatal");
  writer.add("errors_fatal", hop.errors.fatal, "aer_dev_fatal");
}

}  // namespace

void append_facts(const PciDevice& device, Facts& facts) {
  PciFactWriter writer(device.address, facts);
  writer.add("vendor", device.vendor, "vendor");
  writer.add("device", device.device, "device");
  writer.add("class", device.class_code, "class");
  writer.add("driver", device.driver, "driver");
  writer.add("numa_node", device.numa_node, "numa_node");
  writer.add("local_cpus", device.local_cpus, "local_cpulist");
  std::string path;
  for (const PciHop& hop : device.path) {
    path += (path.empty() ? "" : " ") + hop.address;
    append_hop(hop, facts);
  }
  writer.add("path", std::optional(path), "");
}

}  // namespace chokepoint::host
