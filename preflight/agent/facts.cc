#include "preflight/agent/facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/host/cpu.h"
#include "base/host/gpu.h"
#include "base/host/kernel.h"
#include "base/host/rdma.h"
#include "base/sys/library.h"
#include "base/sys/root.h"

namespace chokepoint::preflight {
namespace {

// As probe/collective/gloo's module is called.
constexpr std::string_view kGlooModule = "libchokepoint-gloo.so";
// A VLAN on a bond on ports is as high as people build.
constexpr int kMostStoreys = 4;

bool has_members(const host::Nic& nic) {
  return nic.kind == host::NicKind::Bond || nic.kind == host::NicKind::Vlan ||
         nic.kind == host::NicKind::Bridge;
}

// A test is one flow, and a bond keeps the packets of a flow on one member, unless it deals them
// out in turn. What a bridge joins stays apart, too.
bool adds_up(const host::Nic& nic) { return nic.bond && nic.bond->mode == "balance-rr"; }

std::optional<double> speed_below(const host::Network& network, const host::Nic& nic, int storeys) {
  if (is_port(nic)) {
    return nic.speed_mbps.transform([](std::int64_t speed) { return static_cast<double>(speed); });
  }
  std::optional<double> all;
  for (const std::string& name :
       has_members(nic) && storeys > 0 ? nic.lower : std::vector<std::string>()) {
    const host::Nic* lower = find(network, name);
    const auto speed = lower != nullptr && is_up(*lower) ? speed_below(network, *lower, storeys - 1)
                                                         : std::nullopt;
    if (speed) {
      all = adds_up(nic) ? all.value_or(0) + *speed : std::max(all.value_or(0), *speed);
    }
  }
  return all;
}

InterfaceFacts facts_of(const host::Network& network, const host::Nic& nic) {
  InterfaceFacts facts{.name = nic.name,
                       .mtu = nic.mtu,
                       .speed_mbps = real_speed_mbps(network, nic),
                       .is_port = is_port(nic),
                       .is_up = is_up(nic)};
  if (facts.is_port && nic.pci) {
    facts.pci_mbps = ceiling_mbps(*nic.pci);
  }
  for (const net::InterfaceAddress& own : nic.settings.addresses) {
    if (facts.addresses.size() == kMostAddresses) {
      break;
    }
    facts.addresses.push_back(own.address.text());
    facts.networks.push_back(
        fmt::format("{}/{}", own.address.network(own.prefix).text(), own.prefix));
  }
  return facts;
}

// A host of many containers has an end of a veth for each, which tells nobody anything.
bool is_telling(const host::Nic& nic) {
  return is_port(nic) || has_members(nic) || !nic.settings.addresses.empty();
}

void add_ports(const host::RdmaDevice& device, HostFacts& facts) {
  for (const host::RdmaPort& port : device.ports) {
    if (facts.rdma.size() == kMostRdmaPorts) {
      return;
    }
    const bool is_hardware = device.pci.has_value();
    facts.rdma.push_back(
        {.device = device.name,
         .port = port.number,
         .interface = port.netdev.value_or(""),
         .speed_mbps = is_hardware && port.rate ? host::rdma_rate_mbps(*port.rate) : std::nullopt,
         .is_active = is_active(port)});
  }
}

std::int64_t count_gpus(const sys::Root& root) {
  // Their number is sysfs's to tell; the driver, which may hang, is not asked.
  const host::Gpus gpus = host::read_gpus(root, fail(ErrorKind::Unsupported, "", "", "not asked"));
  return static_cast<std::int64_t>(gpus.gpus.size());
}

}  // namespace

std::optional<double> real_speed_mbps(const host::Network& network, const host::Nic& nic) {
  return speed_below(network, nic, kMostStoreys);
}

// Between two readings of one clock the other one's is in the middle.
double wall_less_monotonic_ms(const sys::Clock& clock) {
  const std::int64_t before = clock.monotonic_ns();
  const std::int64_t wall = clock.wall_ns();
  const std::int64_t after = clock.monotonic_ns();
  const std::int64_t half = (after - before) / 2;
  return static_cast<double>(wall - before - half) / 1e6;
}

HostFacts read_facts(const sys::Root& root) { return facts_of(root, host::read_network(root)); }

HostFacts facts_of(const sys::Root& root, const host::Network& network) {
  const host::Sysctls sysctls = host::read_sysctls(root);
  HostFacts facts{
      .host = sys::host_name(root),
      .receive_buffer_bytes = sysctls.most("net.ipv4.tcp_rmem"),
      .send_buffer_bytes = sysctls.most("net.ipv4.tcp_wmem"),
      .congestion_control = sysctls.text("net.ipv4.tcp_congestion_control").value_or(""),
      .cpus = host::read_cpu(root).online,
      .gpus = count_gpus(root),
      .has_gloo = sys::own_library(kGlooModule).has_value()};
  for (const host::Nic& nic : network.nics) {
    if (is_telling(nic) && facts.interfaces.size() < kMostInterfaces) {
      facts.interfaces.push_back(facts_of(network, nic));
    }
  }
  for (const host::RdmaDevice& device : host::read_rdma(root)) {
    add_ports(device, facts);
  }
  return facts;
}

}  // namespace chokepoint::preflight
