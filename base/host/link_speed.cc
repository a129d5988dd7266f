#include "base/host/link_speed.h"

#include <algorithm>

namespace chokepoint::host {
namespace {

template <class T>
void keep_larger(std::optional<T>& kept, T value) {
  kept = std::max(kept.value_or(value), value);
}

// Backed by a device of this host, or made of such.
bool leads_out(NicKind kind) {
  switch (kind) {
    case NicKind::Physical:
    case NicKind::VirtualFunction:
    case NicKind::Paravirtual:
    case NicKind::Infiniband:
    case NicKind::Usb:
    case NicKind::Wireless:
    case NicKind::Bond:
      return true;
    case NicKind::Unknown:
    case NicKind::Bridge:
    case NicKind::Vlan:
    case NicKind::Veth:
    case NicKind::Tunnel:
    case NicKind::Loopback:
    case NicKind::Virtual:
      break;
  }
  return false;
}

}  // namespace

Links links_of(const Network& network) {
  Links links;
  for (const Nic& nic : network.nics) {
    if (!leads_out(nic.kind)) {
      continue;
    }
    if (nic.speed_mbps) {
      keep_larger(links.fastest_mbps, static_cast<double>(*nic.speed_mbps));
    }
    if (nic.mtu) {
      keep_larger(links.largest_mtu_bytes, *nic.mtu);
    }
  }
  return links;
}

}  // namespace chokepoint::host
