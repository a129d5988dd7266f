// One network interface of /sys/class/net: what it is, what it stands on, how it is set and what it
// has counted. Values, read once below the given root and from the LinkQuery that goes with it.
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
  int rx_queues = 0;
  int tx_queues = 0;
  int rps_queues = 0;  // of the rx queues, those that hand packets to other CPUs
  int xps_queues = 0;
  std::vector<Interrupt> interrupts = {};             // those of its queues
  std::map<std::string, std::int64_t> counters = {};  // statistics/, and carrier_changes
  LinkAnswers settings = {};
};

Nic read_nic(const sys::Root& root, const LinkQuery& query, const InterruptTable& interrupts,
             const std::string& name);
void append_facts(const Nic& nic, std::string_view query_source, Facts& facts);

// Does it carry packets: enabled and with a carrier, as far as that can be told?
bool is_up(const Nic& nic);
// A port of this host whose speed and settings are the hardware's.
bool is_port(const Nic& nic);
// A counter of `ethtool -S`.
std::optional<std::int64_t> statistic(const Nic& nic, std::string_view name);
std::optional<std::int64_t> counter(const Nic& nic, const std::string& name);
// An address that reaches beyond the link.
bool has_address(const Nic& nic);

// What sort of interface a folder of /sys/class/net describes. Reads below the given root only.

NicKind read_kind(const sys::Root& root, const std::string& name);

}  // namespace chokepoint::host
