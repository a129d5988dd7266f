#include "base/checks/check.h"
#include "base/checks/rdma_checks.h"
#include "rdma/devices/listing.h"

namespace chokepoint::rdma::devices {
namespace {

using cli::Json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json link_json(const host::RdmaDevice& device) {
  const host::PciHop* hop = device.pci ? narrowest_hop(*device.pci) : nullptr;
  if (hop == nullptr) {
    return {};
  }
  const host::PciLink& most = device.pci->path.back().maximum;
  return {{"at", hop->address},
          {"speed_gts", or_null(hop->current.speed_gts)},
          {"width", or_null(hop->current.width)},
          {"max_speed_gts", or_null(most.speed_gts)},
          {"max_width", or_null(most.width)},
          {"ceiling_mbps", or_null(ceiling_mbps(*device.pci))}};
}

Json gids_json(const host::RdmaPort& port) {
  Json gids = Json::array();
  for (const host::RdmaGid& gid : port.gids) {
    gids.push_back({{"index", gid.index},
                    {"gid", gid.address.text()},
                    {"address", gid.address.unmapped().text()},
                    {"type", or_null(gid.type)},
                    {"netdev", or_null(gid.netdev)}});
  }
  return gids;
}

Json usable_index(const host::RdmaPort& port) {
  const host::RdmaGid* gid = checks::usable_gid(port);
  return gid == nullptr ? Json() : Json(gid->index);
}

Json pfc_json(const std::optional<net::PriorityFlowControl>& pfc) {
  return pfc ? Json(pfc->enabled) : Json();
}

// What software calls its rate is a name.
Json rate_json(const host::RdmaDevice& device, const host::RdmaPort& port) {
  return device.pci_address && port.rate ? or_null(host::rdma_rate_mbps(*port.rate)) : Json();
}

Json port_json(const Listing& listing, const host::RdmaDevice& device, const host::RdmaPort& port) {
  const Json possible =
      port.netdev_mtu_bytes ? Json(host::roce_mtu_bytes(*port.netdev_mtu_bytes)) : Json();
  return {{"number", port.number},
          {"state", or_null(port.state)},
          {"physical_state", or_null(port.physical)},
          {"link_layer", or_null(port.link_layer)},
          {"rate_mbps", rate_json(device, port)},
          {"rate", or_null(port.rate)},
          {"netdev", or_null(port.netdev)},
          {"netdev_mtu_bytes", or_null(port.netdev_mtu_bytes)},
          {"active_mtu_bytes", or_null(port.active_mtu_bytes)},
          {"possible_mtu_bytes", possible},
          {"pfc_priorities", pfc_json(flow_control_of(listing, port))},
          {"usable_gid_index", usable_index(port)},
          {"gids", gids_json(port)}};
}

Json device_json(const Listing& listing, const host::RdmaDevice& device) {
  Json ports = Json::array();
  for (const host::RdmaPort& port : device.ports) {
    ports.push_back(port_json(listing, device, port));
  }
  return {{"name", device.name},
          {"firmware", or_null(device.firmware)},
          {"pci_address", or_null(device.pci_address)},
          {"numa_node", or_null(device.numa_node)},
          {"pci_link", link_json(device)},
          {"ports", std::move(ports)}};
}

Json locked_memory(const host::Process& process) {
  const auto& limit = process.locked_memory_bytes;
  return limit && limit->soft != host::kUnlimited ? Json(limit->soft) : Json();
}

}  // namespace

Json document_of(const cli::Context& context, const Listing& listing) {
  Json document = cli::document(context, "chokepoint.rdma-devices/1");
  document["verdict"] = name_of(worst(listing.checks));
  document["locked_memory_limit_bytes"] = locked_memory(listing.process);
  Json devices = Json::array();
  for (const host::RdmaDevice& device : listing.devices) {
    devices.push_back(device_json(listing, device));
  }
  document["devices"] = std::move(devices);
  document["checks"] = checks::json_of(listing.checks);
  return document;
}

}  // namespace chokepoint::rdma::devices
