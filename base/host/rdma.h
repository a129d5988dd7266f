// The RDMA devices of this host with their ports and GIDs, as /sys/class/infiniband shows them. No
// device is opened. Reads under the given root only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/fact.h"
#include "base/host/pci.h"
#include "base/net/address.h"
#include "base/sys/root.h"

namespace chokepoint::host {

struct RdmaGid {
  int index = 0;
  net::Address address;                    // a GID is written as an IPv6 address
  std::optional<std::string> type = {};    // "IB/RoCE v1", "RoCE v2"
  std::optional<std::string> netdev = {};  // eth0
};

struct RdmaPort {
  int number = 1;
  std::optional<std::string> state = {};       // "ACTIVE", "DOWN", "INIT"
  std::optional<std::string> physical = {};    // "LinkUp", "Disabled"
  std::optional<std::string> link_layer = {};  // "Ethernet", "InfiniBand"
  std::optional<std::string> rate = {};        // "100 Gb/sec (4X EDR)"
  std::optional<std::string> netdev = {};      // the Ethernet interface under it
  std::optional<std::int64_t> netdev_mtu_bytes = {};
  std::optional<int> active_mtu_bytes =
      {};                          // as the device reports it by verbs; no file of sysfs has it
  std::vector<RdmaGid> gids = {};  // those that are set
};

struct RdmaDevice {
  std::string name = {};  // mlx5_0
  std::optional<std::string> firmware = {};
  std::optional<std::string> pci_address = {};
  std::optional<std::int64_t> numa_node = {};
  std::optional<PciDevice> pci = {};  // nothing where the device is software
  std::vector<RdmaPort> ports = {};
};

std::vector<RdmaDevice> read_rdma(const sys::Root& root);
// The key of the fact of a device in software: rxe, siw.
inline constexpr std::string_view kRdmaInSoftware = "in_software";

// The Ethernet interface under a port: a physical one where the device has one, because only its
// driver counts pauses and drops.
std::optional<std::string> netdev_of_port(const sys::Root& root, const std::string& device,
                                          int port);
void append_facts(const std::vector<RdmaDevice>& devices, Facts& facts);

bool is_active(const RdmaPort& port);
bool is_ethernet(const RdmaPort& port);

// "100 Gb/sec (4X EDR)" in 10^6 bit/s; nothing for what is no rate.
std::optional<double> rdma_rate_mbps(std::string_view rate);

// The largest RDMA MTU that fits into Ethernet frames of this size with RoCE's headers: 256 to
// 4096; 0 where none does.
int roce_mtu_bytes(std::int64_t netdev_mtu_bytes);

}  // namespace chokepoint::host
