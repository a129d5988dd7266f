#include "analysis/report/pcie_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "analysis/attribution/counters.h"
#include "analysis/report/node_facts.h"
#include "base/host/pci.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

using host::PciDevice;
using host::PciHop;
using host::PciLink;

std::optional<int> lanes(std::optional<double> width) {
  constexpr double kMost = 32;
  return width && *width >= 1 && *width <= kMost ? std::optional(static_cast<int>(*width))
                                                 : std::nullopt;
}

std::optional<double> speed(std::optional<double> gts) {
  return gts.value_or(0) > 0 ? gts : std::nullopt;
}

PciLink link_of(const NodeData& node, const char* category, const std::string& subject,
                const std::string& prefix) {
  return {.speed_gts = speed(number_of(node, category, subject, prefix + "speed_gts")),
          .width = lanes(number_of(node, category, subject, prefix + "width"))};
}

PciHop hop_of(const NodeData& node, const std::string& address) {
  PciHop hop{.address = address,
             .current = link_of(node, "pci", address, ""),
             .maximum = link_of(node, "pci", address, "max_")};
  const auto payload = number_of(node, "pci", address, "payload_bytes");
  constexpr double kMostPayload = 4096;
  if (payload && *payload >= 1 && *payload <= kMostPayload) {
    hop.payload_bytes = static_cast<int>(*payload);
  }
  return hop;
}

constexpr std::size_t kMostHops = 64;

// The device as base/host read it when it told these facts.
PciDevice device_of(const NodeData& node, const std::string& bus_id) {
  PciDevice device{.address = bus_id};
  std::istringstream path(text_of(node, "pci", bus_id, "path"));
  for (std::string address; device.path.size() < kMostHops && path >> address;) {
    device.path.push_back(hop_of(node, address));
  }
  if (device.path.empty()) {
    device.path.push_back(hop_of(node, bus_id));
  }
  return device;
}

void take(const PciLink& link, PciePicture& picture) {
  picture.speed_gts = link.speed_gts;
  picture.width = link.width;
}

// An idle GPU lets its link fall back, so what was seen at work comes first.
PciLink link_in_series(const NodeData& node, const std::string& subject) {
  const PciLink busy{.speed_gts = speed(last_level(node, record::kPcieBusySpeed, subject)),
                     .width = lanes(last_level(node, record::kPcieBusyWidth, subject))};
  return busy.is_known()
             ? busy
             : PciLink{.speed_gts = speed(last_level(node, record::kPcieSpeed, subject)),
                       .width = lanes(last_level(node, record::kPcieWidth, subject))};
}

std::optional<double> ceiling_of(const PciLink& link, int payload_bytes) {
  return link.is_known()
             ? std::optional(host::ceiling_mbps(*link.speed_gts, *link.width, payload_bytes))
             : std::nullopt;
}

// GPUs tell of themselves; of other cards the last hop of the path is the card.
PciLink most_of_card(const NodeData& node, const PciDevice& device) {
  const PciLink own = device.path.back().maximum;
  return own.is_known() ? own : link_of(node, "gpu", device.address, "max_");
}

// How it was trained when the host was looked at.
PciLink link_in_facts(const NodeData& node, const PciDevice& device) {
  const PciHop* narrowest = host::narrowest_hop(device);
  return narrowest != nullptr ? narrowest->current : link_of(node, "gpu", device.address, "");
}

}  // namespace

std::optional<PciePicture> pcie_of(const NodeData& node, const std::string& bus_id,
                                   const std::string& subject) {
  const PciDevice device = device_of(node, bus_id);
  const PciLink seen = link_in_series(node, subject);
  const PciLink now = seen.is_known() ? seen : link_in_facts(node, device);
  const PciLink most = most_of_card(node, device);
  if (!now.is_known() && !most.is_known()) {
    return std::nullopt;
  }
  const int payload = host::payload_of(device).value_or(host::kUsualPayloadBytes);
  PciePicture picture{.bus_id = bus_id,
                      .max_speed_gts = most.speed_gts,
                      .max_width = most.width,
                      .ceiling_mbps = ceiling_of(now, payload),
                      .possible_mbps = ceiling_of(most, payload),
                      .source = seen.is_known() ? fmt::format("series pcie.* of {}", subject)
                                                : fmt::format("facts pci {}", bus_id)};
  take(now, picture);
  return picture;
}

}  // namespace chokepoint::analysis
