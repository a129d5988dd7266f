// Every interface of this host, and which of them a job meets first. A value, read once below the
// given root.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host/cpu.h"
#include "base/host/fact.h"
#include "base/host/link_query.h"
#include "base/host/pci.h"
#include "base/net/address.h"
#include "base/sys/root.h"

namespace chokepoint::host {

enum class NicKind {
  Unknown,  // nothing but its name could be read
  Physical,
  VirtualFunction,
  Paravirtual,  // a hypervisor's: its speed and PCIe link are not the hardware's
  Infiniband,   // IP over InfiniBand
  Usb,          // a management controller's, mostly
  Wireless,
  Bond,
  Bridge,
  Vlan,
  Veth,
  Tunnel,
  Loopback,
  Virtual,  // dummy, ifb and whatever else has no device
};

std::string_view name_of(NicKind kind);  // "physical", "virtual-function"

struct Bond {
  std::string mode = {};                        // 802.3ad
  std::optional<std::string> hash_policy = {};  // layer3+4
  std::vector<std::string> members = {};
};

struct Nic {
  std::string name = {};
  NicKind kind = NicKind::Unknown;
  std::optional<bool> enabled = {};  // set up by the administrator
  std::optional<bool> carrier = {};
  std::optional<std::string> operstate = {};
  std::optional<std::int64_t> speed_mbps = {};
  std::optional<std::string> duplex = {};
  std::optional<std::int64_t> mtu = {};
  std::optional<std::string> hardware_address = {};
  std::optional<std::string> driver = {};
  std::optional<int> numa_node = {};
  std::optional<std::string> master = {};  // the bond or bridge it belongs to
  std::vector<std::string> lower = {};     // what it stands on: a bond's members, a VLAN's parent
  std::optional<Bond> bond = {};
  std::optional<PciDevice> pci = {};
  std::optional<std::string> rdma_device = {};  // mlx5_0, of the same PCI function
  std::optional<std::string> card_id = {};      // of the card, however many functions it has
  std::optional<int> header_bytes = {};         // that a tunnel puts before each packet
  int rx_queues = 0;
  int tx_queues = 0;
  int rps_queues = 0;  // of the rx queues, those that hand packets to other CPUs
  int xps_queues = 0;
  std::vector<Interrupt> interrupts = {};             // those of its queues
  std::map<std::string, std::int64_t> counters = {};  // statistics/, and carrier_changes
  LinkAnswers settings = {};
};

struct Network;

Nic read_nic(const sys::Root& root, const LinkQuery& query, const InterruptTable& interrupts,
             const std::string& name);
void append_facts(const Nic& nic, std::string_view query_source, Facts& facts);

// Whether it carries packets: enabled and with a carrier, as far as these are known.
bool is_up(const Nic& nic);
// A port of this host whose speed and settings are the hardware's.
bool is_port(const Nic& nic);
// A counter of `ethtool -S`.
std::optional<std::int64_t> statistic(const Nic& nic, std::string_view name);
std::optional<std::int64_t> counter(const Nic& nic, const std::string& name);
// An address that reaches beyond the link.
bool has_address(const Nic& nic);
// The other interface of the same port, where a card with two PCIe links shows each port twice;
// null for all others.
const Nic* other_half(const Network& network, const Nic& nic);

// What sort of interface a folder of /sys/class/net describes. Reads below the given root only.

NicKind read_kind(const sys::Root& root, const std::string& name);

struct Network {
  std::vector<Nic> nics = {};
  std::string query_source = {};                  // where settings come from: "ethtool"
  std::optional<std::string> query_problem = {};  // why there are none
  std::optional<std::string> default_route = {};  // the interface of the preferred default route
  int cpus = 0;                                   // that are online; 0: unknown
  int numa_nodes = 0;
};

Network read_network(const sys::Root& root);
Network read_network(const sys::Root& root, const LinkQuery& query);
void append_facts(const Network& network, Facts& facts);

const Nic* find(const Network& network, std::string_view name);

// The speed of an interface, or of what it stands on: a bond's members together, a VLAN's parent.
std::optional<std::int64_t> speed_mbps(const Network& network, const Nic& nic);

// /proc/net/route and /proc/net/ipv6_route: the interface of the default route of least metric.
std::optional<std::string> default_route_in(std::string_view ipv4_routes,
                                            std::string_view ipv6_routes);

// The fastest link and the largest MTU of this host: what its TCP settings have to carry.
// Derived; a pure function.

struct Links {
  std::optional<double> fastest_mbps;
  std::optional<std::int64_t> largest_mtu_bytes;
};

// Of the physical interfaces and bonds; loopback and what is only virtual do not count.
Links links_of(const Network& network);

// Which addresses this host has, on which interface, and by which it reaches the rest of the world,
// a family each. Reads /proc/net below the given root, and asks the running kernel where the root
// is live.

struct InterfaceAddress {
  std::string interface;  // empty where only the address is known
  net::Address address;
};

struct DefaultRoute {
  std::string interface;
  net::Family family = net::Family::Ipv4;
};

struct Addresses {
  std::optional<std::vector<InterfaceAddress>> addresses;
  std::optional<std::vector<DefaultRoute>> default_routes;
  std::vector<std::string> interfaces;  // all of them, with an address or without
};

Addresses read_addresses(const sys::Root& root);
void append_facts(const Addresses& addresses, Facts& facts);

// Could a peer on another host reach it: no loopback, link-local, unspecified or multicast address?
bool is_routable(const net::Address& address);
// Has it an address of this family that a peer could reach? False also where nothing is known.
bool is_reachable(const Addresses& addresses, net::Family family);
bool has_default_route(const Addresses& addresses, net::Family family);

}  // namespace chokepoint::host
