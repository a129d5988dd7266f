// chokepoint.rdma-devices/1: this host's RDMA devices, and what is wrong with them. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/checks/check.h"
#include "base/documents/bounds.h"
#include "base/documents/values.h"
#include "base/json/fields.h"

namespace chokepoint {

namespace rdma {

struct ShownGid {
  int index = 0;
  net::Address gid = {};
  net::Address address = {};
  std::string type = {};
  std::string netdev = {};
};

struct ShownPort {
  int number = 1;
  std::string state = {};
  std::string physical_state = {};
  std::string link_layer = {};
  std::optional<double> rate_mbps = {};
  std::string rate = {};
  std::string netdev = {};
  std::optional<std::int64_t> netdev_mtu_bytes = {};
  std::optional<int> active_mtu_bytes = {};
  std::optional<int> possible_mtu_bytes = {};
  std::optional<std::vector<int>> pfc_priorities = {};
  std::optional<int> usable_gid_index = {};
  std::vector<ShownGid> gids = {};
};

struct ShownPciLink {
  std::string at = {};
  std::optional<double> speed_gts = {};
  std::optional<int> width = {};
  std::optional<double> max_speed_gts = {};
  std::optional<int> max_width = {};
  std::optional<double> ceiling_mbps = {};
};

struct ShownDevice {
  std::string name = {};
  std::string firmware = {};
  std::string pci_address = {};
  std::optional<std::int64_t> numa_node = {};
  std::optional<ShownPciLink> pci_link = {};
  std::vector<ShownPort> ports = {};
};

struct ShownDevices {
  checks::Status verdict = checks::Status::Pass;
  std::optional<std::int64_t> locked_memory_limit_bytes = {};
  std::vector<ShownDevice> devices = {};
  checks::Checks checks = {};
};

}  // namespace rdma

template <>
struct Fields<rdma::ShownGid> {
  using G = rdma::ShownGid;
  static constexpr FieldList kList{
      field("index", &G::index, "index in the port's table").at_least(0),
      field("gid", &G::gid, "written as an IPv6 address"),
      field("address", &G::address, "IPv4 address, where the GID is a mapped one"),
      field("type", &G::type, "GID type, as the kernel calls it").null_if_empty(),
      field("netdev", &G::netdev, "network interface").null_if_empty()};
};

template <>
struct Fields<rdma::ShownPort> {
  using P = rdma::ShownPort;
  static constexpr FieldList kList{
      field("number", &P::number, "number of the port on the device").at_least(0),
      field("state", &P::state, "ACTIVE, DOWN …").null_if_empty(),
      field("physical_state", &P::physical_state, "LinkUp, Disabled …").null_if_empty(),
      field("link_layer", &P::link_layer, "Ethernet or InfiniBand").null_if_empty(),
      field("rate_mbps", &P::rate_mbps,
            "10^6 bit/s; null for a device in software, whose rate has no meaning")
          .between(0, documents::kMaxMbps),
      field("rate", &P::rate, "as the device reports it").null_if_empty(),
      field("netdev", &P::netdev, "network interface").null_if_empty(),
      field("netdev_mtu_bytes", &P::netdev_mtu_bytes, "MTU of the interface").at_least(0),
      field("active_mtu_bytes", &P::active_mtu_bytes, "MTU in use").at_least(0),
      field("possible_mtu_bytes", &P::possible_mtu_bytes,
            "largest MTU that fits into the interface's frames with RoCE's headers")
          .at_least(0),
      field("pfc_priorities", &P::pfc_priorities,
            "priorities with flow control (PFC); null: the driver does not report them")
          .between(0, 7)
          .up_to_items(8),
      field("usable_gid_index", &P::usable_gid_index, "index of the GID to use").at_least(0),
      field("gids", &P::gids, "GIDs that are set")};
};

template <>
struct Fields<rdma::ShownPciLink> {
  using L = rdma::ShownPciLink;
  static constexpr FieldList kList{
      field("at", &L::at, "PCI address of the narrowest hop"),
      field("speed_gts", &L::speed_gts, "GT/s of a lane").at_least(0),
      field("width", &L::width, "lanes").at_least(0),
      field("max_speed_gts", &L::max_speed_gts, "GT/s that the card can do").at_least(0),
      field("max_width", &L::max_width, "lanes that the card can do").at_least(0),
      field("ceiling_mbps", &L::ceiling_mbps,
            "rate that the slot carries in one direction, 10^6 bit/s")
          .between(0, documents::kMaxMbps)};
};

template <>
struct Fields<rdma::ShownDevice> {
  using D = rdma::ShownDevice;
  static constexpr FieldList kList{
      field("name", &D::name, "name in the kernel"),
      field("firmware", &D::firmware, "version of the firmware").null_if_empty(),
      field("pci_address", &D::pci_address, "PCI address; null: a device in software")
          .null_if_empty(),
      field("numa_node", &D::numa_node, "NUMA node to which it is attached").at_least(0),
      field("pci_link", &D::pci_link, "PCIe link; null: a device in software, or unknown"),
      field("ports", &D::ports, "ports by number")};
};

template <>
struct Fields<rdma::ShownDevices> {
  using D = rdma::ShownDevices;
  static constexpr std::string_view kSchema = "chokepoint.rdma-devices/1";
  static constexpr const char* kCommand = "rdma devices";
  static constexpr FieldList kList{
      field("verdict", &D::verdict, "the worst status of all checks"),
      field("locked_memory_limit_bytes", &D::locked_memory_limit_bytes,
            "limit on locked memory; null: unlimited or unknown")
          .at_least(0),
      field("devices", &D::devices, "all devices, or the one that was named"),
      field("checks", &D::checks, "each with what was found").up_to_items(10'000)};
};

}  // namespace chokepoint
