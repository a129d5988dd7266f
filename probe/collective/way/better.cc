#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "probe/collective/way/way.h"

namespace chokepoint::probe::collective {
namespace {

using host::Nic;
using host::NicKind;

// Has hardware of its own below it, whose speed is what it says.
bool leads_out(const host::Network& network, const Nic& nic) {
  if (nic.kind == NicKind::Vlan) {
    return std::ranges::any_of(nic.lower, [&](const std::string& name) {
      const Nic* below = host::find(network, name);
      return below != nullptr && below->kind != NicKind::Vlan && leads_out(network, *below);
    });
  }
  return host::is_port(nic) || nic.kind == NicKind::Bond || nic.kind == NicKind::Paravirtual;
}

bool has_routable_address(const Nic& nic, const host::Addresses& addresses) {
  return addresses.addresses &&
         std::ranges::any_of(*addresses.addresses, [&](const host::InterfaceAddress& each) {
           return each.interface == nic.name && host::is_routable(each.address);
         });
}

double speed_of(const host::Network& network, const Nic& nic) {
  return static_cast<double>(host::speed_mbps(network, nic).value_or(0));
}

// The fastest that could be used.
const Nic* best_of(const HostNetwork& host) {
  const Nic* best = nullptr;
  for (const Nic& nic : host.network.nics) {
    if (!host::is_up(nic) || !leads_out(host.network, nic) ||
        !has_routable_address(nic, host.addresses)) {
      continue;
    }
    if (best == nullptr || speed_of(host.network, nic) > speed_of(host.network, *best)) {
      best = &nic;
    }
  }
  return best;
}

// What only software stands behind: a container's or a virtual machine's network, a tunnel.
std::optional<std::string_view> detour_of(const Nic& nic) {
  switch (nic.kind) {
    case NicKind::Bridge:
      return "a bridge";
    case NicKind::Tunnel:
      return "a tunnel";
    case NicKind::Virtual:
      return "a virtual interface";
    case NicKind::Usb:
      return "a USB interface, mostly for management";
    case NicKind::Wireless:
      return "wireless";
    default:
      return std::nullopt;
  }
}

std::string how_to_have(const Nic& nic, const WayHints& hints) {
  return fmt::format("set {}={}{} where the other hosts are reached by it, too", hints.variable,
                     hints.by_prefix ? "=" : "", nic.name);
}

}  // namespace

std::string better_than(const std::string& interface, const HostNetwork& host,
                        const WayHints& hints) {
  const Nic* used = host::find(host.network, interface);
  const Nic* best = best_of(host);
  if (used == nullptr || best == nullptr || used == best || used->kind == NicKind::Loopback) {
    return {};
  }
  if (const std::optional<std::string_view> detour = detour_of(*used)) {
    return fmt::format("{} is {}, and {} is a port of this host: {}", interface, *detour,
                       best->name, how_to_have(*best, hints));
  }
  const double speed = speed_of(host.network, *used);
  const double best_speed = speed_of(host.network, *best);
  if (speed <= 0 || best_speed <= speed) {
    return {};
  }
  return fmt::format("{} runs at {:.0f} Mb/s, and {} at {:.0f} Mb/s: {}", interface, speed,
                     best->name, best_speed, how_to_have(*best, hints));
}

}  // namespace chokepoint::probe::collective
