#include "probe/commands/pcie_report.h"

#include <algorithm>

#include "base/checks/check.h"
#include "base/control/bodies.h"
#include "probe/commands/units.h"
#include "probe/pcie/affinity.h"
#include "probe/pcie/ceiling.h"

namespace chokepoint::probe {
namespace {

using cli::Json;
using control::or_null;
using pcie::Device;
using pcie::GpuOutcome;
using pcie::Kind;

Json link_body(const host::PciLink& now, const host::PciLink& possible) {
  return {{"speed_gts", or_null(now.speed_gts)},
          {"width", or_null(now.width)},
          {"max_speed_gts", or_null(possible.speed_gts)},
          {"max_width", or_null(possible.width)}};
}

Json hops_body(const host::PciDevice& pci) {
  Json list = Json::array();
  for (const host::PciHop& hop : pci.path) {
    Json body = link_body(hop.current, hop.possible);
    body["bus_id"] = hop.address;
    body["payload_bytes"] = or_null(hop.payload_bytes);
    list.push_back(std::move(body));
  }
  return list;
}

Json copies_body(const pcie::HostCopies& copies) {
  return {{"host_to_device_mbps", or_null(copies.to_gpu_mbps)},
          {"device_to_host_mbps", or_null(copies.from_gpu_mbps)},
          {"both_ways_mbps", or_null(copies.both_mbps)}};
}

Json counts_body(std::optional<std::int64_t> before, std::optional<std::int64_t> after) {
  return {{"before", or_null(before)}, {"after", or_null(after)}};
}

Json share_of(std::optional<double> rate, const std::optional<pcie::Ceiling>& ceiling) {
  return rate && ceiling ? Json(*rate * kPercent / ceiling->mbps) : Json();
}

void add_outcome(Json& body, const GpuOutcome& outcome,
                 const std::optional<pcie::Ceiling>& ceiling) {
  body["index"] = outcome.number;
  body["bytes"] = outcome.bytes;
  body["host_to_device_percent"] = share_of(outcome.pinned.to_gpu_mbps, ceiling);
  body["device_to_host_percent"] = share_of(outcome.pinned.from_gpu_mbps, ceiling);
  body["pageable"] = copies_body(outcome.pageable);
  body["near_memory"] = outcome.near_node ? Json(!outcome.anywhere) : Json();
  body["numa_far"] = copies_body(outcome.far);
  body["numa_far"]["node"] = or_null(outcome.far_node);
  body["copy_engines"] = or_null(outcome.engines);
  body["two_streams_mbps"] = or_null(outcome.two_streams_mbps);
  body["idle_link"] = link_body(outcome.link.idle, {});
  body["link_looks"] = outcome.link.looks;
  body["replays"] = counts_body(outcome.link.replays_before, outcome.link.replays_after);
  body["errors"] = counts_body(outcome.link.errors_before, outcome.link.errors_after);
  body["verified_bytes"] = outcome.verified_bytes;
  body["data_errors"] = outcome.wrong;
  body["problems"] = outcome.problems;
}

// A GPU's link is the one under load where that was seen, else as it idles.
host::PciLink shown_link(const Device& device, const GpuOutcome* outcome) {
  return outcome != nullptr && outcome->link.looks > 0 ? outcome->link.best : device.link;
}

Json nearest_body(const PcieShown& shown, std::size_t gpu) {
  Json list = Json::array();
  if (const auto nearest =
          gpu < shown.slots.devices.size() ? pcie::nearest_to(shown.slots, gpu) : std::nullopt) {
    for (const std::size_t number : nearest->devices) {
      const Device& device = shown.slots.devices[number];
      list.push_back({{"bus_id", device.address},
                      {"names", device.names},
                      {"affinity", pcie::name_of(nearest->nearness)}});
    }
  }
  return list;
}

Json device_body(const PcieShown& shown, const Device& device, std::size_t number) {
  const GpuOutcome* outcome =
      shown.measured ? pcie::outcome_of(device, shown.measured->gpus) : nullptr;
  const auto ceiling = pcie::ceiling_of(device, outcome);
  Json body{{"bus_id", device.address},
            {"kind", pcie::name_of(device.kind)},
            {"name", pcie::label_of(device)},
            {"names", device.names},
            {"numa_node", or_null(device.pci.numa_node)},
            {"link", link_body(shown_link(device, outcome), device.possible)},
            {"hops", hops_body(pcie::under_load(device, outcome))},
            {"ceiling_mbps", ceiling ? Json(ceiling->mbps) : Json()},
            {"payload_bytes", ceiling ? Json(ceiling->payload_bytes) : Json()},
            {"payload_assumed", ceiling ? Json(!ceiling->payload_is_known) : Json()},
            {"line_rate_mbps", or_null(device.line_rate_mbps)}};
  body.update(copies_body(outcome == nullptr ? pcie::HostCopies() : outcome->pinned));
  if (device.kind == Kind::Gpu) {
    body["link"]["seen"] = outcome != nullptr && outcome->link.looks > 0 ? "under-load" : "idle";
    body["nics"] = nearest_body(shown, number);
  }
  if (outcome != nullptr) {
    add_outcome(body, *outcome, ceiling);
  }
  return body;
}

Json peer_copies_body(const pcie::PeerCopies& copies) {
  return {{"a_to_b_mbps", or_null(copies.there_mbps)},
          {"b_to_a_mbps", or_null(copies.back_mbps)},
          {"both_ways_mbps", or_null(copies.both_mbps)}};
}

Json peers_body(const PcieShown& shown) {
  Json list = Json::array();
  if (shown.measured) {
    for (const pcie::PeerOutcome& peers : shown.measured->peers) {
      list.push_back({{"a", peers.one},
                      {"b", peers.other},
                      {"peer_access", or_null(peers.reachable)},
                      {"direct", peer_copies_body(peers.direct)},
                      {"through_host", peer_copies_body(peers.staged)},
                      {"verified_bytes", peers.verified_bytes},
                      {"data_errors", peers.wrong},
                      {"problems", peers.problems}});
    }
  }
  return list;
}

Json affinity_body(const pcie::Slots& slots) {
  Json list = Json::array();
  for (const pcie::Affinity& pair : pcie::affinity_of(slots)) {
    list.push_back({{"a", slots.devices[pair.one].address},
                    {"b", slots.devices[pair.other].address},
                    {"affinity", pair.nearness ? Json(pcie::name_of(*pair.nearness)) : Json()}});
  }
  return list;
}

// Why nothing was copied.
Json unmeasured_body(const PcieShown& shown) {
  if (!shown.measured) {
    return "not asked for";
  }
  return shown.measured->problem ? Json(describe(*shown.measured->problem)) : Json();
}

}  // namespace

std::vector<Device> devices_of(const PcieShown& shown) {
  std::vector<Device> devices = shown.slots.devices;
  if (!shown.measured) {
    return devices;
  }
  for (const GpuOutcome& outcome : shown.measured->gpus) {
    if (!outcome.address.empty() &&
        std::ranges::find(devices, outcome.address, &Device::address) == devices.end()) {
      Device device{.kind = Kind::Gpu, .address = outcome.address, .is_up = true};
      if (!outcome.name.empty()) {
        device.names.push_back(outcome.name);
      }
      devices.push_back(std::move(device));
    }
  }
  return devices;
}

void add_to(Json& document, const PcieShown& shown) {
  document["verdict"] = name_of(worst(shown.checks));
  document["bytes"] = shown.measured ? Json(shown.measured->bytes) : Json();
  const int version = shown.measured ? shown.measured->driver_version : 0;
  document["cuda_version"] = version > 0 ? Json(version) : Json();
  document["gpu_driver_version"] = or_null(shown.slots.gpus.driver_version);
  document["not_measured"] = unmeasured_body(shown);
  document["interrupted"] = shown.measured && shown.measured->interrupted;
  Json devices = Json::array();
  const std::vector<Device> all = devices_of(shown);
  for (std::size_t i = 0; i < all.size(); ++i) {
    devices.push_back(device_body(shown, all[i], i));
  }
  document["devices"] = std::move(devices);
  document["peers"] = peers_body(shown);
  document["affinity"] = affinity_body(shown.slots);
  document["checks"] = checks::json_of(shown.checks);
}

}  // namespace chokepoint::probe
