// Everything that doctor judges about this host. Pure functions: facts in (base/host), checks out
// (base/checks). examine() calls them all, in the order in which doctor shows them; each is
// declared here, so that tests can call it with facts of their own. The checks of PCIe and RDMA
// stand in base/checks, because rdma devices shows them, too.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/checks/check.h"
#include "base/checks/pci_checks.h"
#include "base/host/inventory.h"

namespace chokepoint::probe {

using checks::Check;
using checks::check_of;
using checks::Checks;
using checks::format_mbps;
using checks::is_in_use;
using checks::kFastMbps;
using checks::kVeryFastMbps;
using checks::line_rate_mbps;
using checks::name_of;
using checks::speed_or_zero;
using checks::Status;
using checks::worst;

// From this MTU on, frames count as jumbo: 9000 less what tunnels and clouds take of it.
inline constexpr std::int64_t kJumboMtu = 8000;

Checks examine(const host::Inventory& inventory);

// A shell script that makes the changes that these checks advise, as far as it can also take them
// back, and names the others (apply_plan.cc). Values that are to come back are read below `root`.
std::string apply_plan(const host::Inventory& inventory, const Checks& checks,
                       const sys::Root& root);

// checks.cc: the kernel, memory, clocks, libraries and this process's privileges. Neither libraries
// nor missing privileges are a fault of the host: nothing of them is worse than Info.
void check_kernel(const host::Kernel& kernel, Checks& checks);
void check_memory(const host::Memory& memory, Checks& checks);
// Room for what NCCL and loaders of data share: containers get 64 MiB of it unless asked.
void check_shared_memory(const std::vector<host::Mount>& mounts, Checks& checks);
void check_time(const host::Timekeeping& time, Checks& checks);
void check_privileges(const host::Process& process, Checks& checks);
struct DevicesPresent {
  bool gpus = false;
  bool rdma = false;
};
void check_libraries(const host::Libraries& libraries, std::optional<bool> peer_memory,
                     DevicesPresent present, Checks& checks);

// cpu_checks.cc: the processors' frequency, and NUMA nodes without memory.
void check_cpu(const host::Cpu& cpu, Checks& checks);
void check_numa(const host::Memory& memory, const host::Sysctls& sysctls, Checks& checks);

// network_checks.cc: every interface by nic_checks.cc, nic_setting_checks.cc and base/checks, and
// the interfaces together: which one a job would use, and whether they agree with each other.
struct JobDefaults {
  std::optional<std::string> named_interface = {};  // GLOO_SOCKET_IFNAME
  std::vector<net::Address> own_addresses = {};     // that the host's own name resolves to
  std::optional<std::string> named_devices = {};    // NCCL_IB_HCA
};
void check_network(const host::Network& network, const JobDefaults& defaults, Checks& checks);
void check_interfaces(const host::Network& network, const JobDefaults& defaults, Checks& checks);
void check_subnets(const host::Network& network, Checks& checks);
void check_mtu_mismatch(const host::Network& network, Checks& checks);
// A port that a card with two PCIe links shows as two interfaces: nic.halves of the first of them.
void check_halves(const host::Network& network, const host::Nic& nic, const JobDefaults& defaults,
                  Checks& checks);
// A bridge whose other ends are all in this host, as those of container engines.
bool ends_in_host(const host::Network& network, const host::Nic& nic);

// nic_checks.cc: does a port run as fast and wide as it can (nic.link, nic.speed, nic.duplex,
// nic.mtu, nic.bond), and what have its counters counted since boot (nic.errors, nic.drops,
// nic.pauses, nic.flaps)?
void check_link(const host::Nic& nic, Checks& checks);
void check_speed(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_duplex(const host::Nic& nic, Checks& checks);
void check_mtu(const host::Nic& nic, Checks& checks);
void check_bond(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_errors(const host::Nic& nic, Checks& checks);
void check_drops(const host::Nic& nic, Checks& checks);
void check_pauses(const host::Nic& nic, Checks& checks);
void check_flaps(const host::Nic& nic, Checks& checks);

// nic_setting_checks.cc: are buffers, queues and offloads set for the port's speed, and do CPUs
// near the port drain its queues? check_settings_readable is Unknown if the driver could not be
// asked; the others then judge nothing.
void check_settings_readable(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_rings(const host::Nic& nic, Checks& checks);
void check_coalescing(const host::Nic& nic, Checks& checks);
void check_offloads(const host::Nic& nic, Checks& checks);
void check_qdisc(const host::Nic& nic, Checks& checks);
void check_queues(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_irq(const host::Network& network, const host::Nic& nic, Checks& checks);
void check_nic_numa(const host::Network& network, const host::Nic& nic, Checks& checks);

// tcp_checks.cc: TCP's settings, and whether its buffers let one flow fill the fastest link. A flow
// carries at most a window per round trip, and the window is only a part of the buffer:
//
//   receiving  Before Linux 6.6, buffer x (1 - 1/2^tcp_adv_win_scale), half of it by default. From
//              6.6 on the kernel measures the share for each connection; half is assumed here.
//   sending    Two thirds: a writer that found the buffer full is woken when a third is free.
void check_tcp(const host::Sysctls& sysctls, const host::Links& links, Checks& checks);
// fastest_mbps: this host's fastest link; nullopt if it is not known.
void check_tcp_buffers(const host::Kernel& kernel, const host::Sysctls& sysctls,
                       std::optional<double> fastest_mbps, Checks& checks);
struct WindowRule {
  double share = 0.5;
  std::string text;  // "half of the buffer (tcp_adv_win_scale 1)"
};
WindowRule receive_rule(const host::Kernel& kernel, const host::Sysctls& sysctls);

// address_checks.cc: routes, forwarding and address families; the interfaces that the environment
// names to Gloo and NCCL; and whether peers find the ranks of this host. Gloo binds the first
// address of the host's own name that an interface has, else loopback; its family decides whether
// two hosts can connect.
void check_ip(const host::Addresses& addresses, const host::Sysctls& sysctls, Checks& checks);
void check_interface_choice(const host::Addresses& addresses, const host::Network& network,
                            const host::Process& process, Checks& checks);
void check_names(const host::OwnName& own, const host::Addresses& addresses,
                 const host::Process& process, Checks& checks);
// The address that Gloo binds if no interface is named to it; nullopt if it can bind none.
std::optional<net::Address> address_gloo_binds(const host::OwnName& own,
                                               const host::Addresses& addresses);
// The interface to name to Gloo and NCCL: that of the default route, else of the first address that
// peers can reach.
std::optional<std::string> best_interface(const host::Addresses& addresses);

// gpu_checks.cc: do the GPUs have the PCIe link they can have? An idle GPU lowers its link's speed,
// so a low speed is a finding only under load; the number of lanes never drops when idle. has_rdma:
// data may go between GPU and NIC without passing through memory.
void check_gpus(const host::Gpus& gpus, const host::Cpu& cpu, bool has_rdma, Checks& checks);

}  // namespace chokepoint::probe
