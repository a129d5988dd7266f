#include "base/host/nic_kind.h"

#include <linux/if_arp.h>

#include <algorithm>
#include <array>

namespace chokepoint::host {
namespace {

// Drivers of interfaces that a hypervisor makes up.
constexpr std::array<std::string_view, 9> kParavirtualDrivers{
    "virtio_net", "vmxnet3", "hv_netvsc", "vif",       "xen_netfront",
    "netfront",   "ena",     "gve",       "vmw_pvrdma"};

std::string last_part(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

// The value of "DEVTYPE=vlan" in uevent.
std::string device_type(const sys::Root& root, const std::string& folder) {
  constexpr std::string_view kKey = "DEVTYPE=";
  const std::string uevent = root.text(folder + "/uevent").value_or("");
  const std::size_t key = uevent.find(kKey);
  if (key == std::string::npos) {
    return {};
  }
  const std::size_t start = key + kKey.size();
  return uevent.substr(start, uevent.find('\n', start) - start);
}

NicKind kind_of_device(const sys::Root& root, const std::string& folder) {
  const std::string driver =
      root.resolve(folder + "/device/driver").transform(last_part).value_or("");
  const std::string real = root.resolve(folder).value_or("");
  if (std::ranges::find(kParavirtualDrivers, driver) != kParavirtualDrivers.end() ||
      real.contains("/virtio")) {
    return NicKind::Paravirtual;
  }
  if (real.contains("/usb")) {
    return NicKind::Usb;
  }
  if (root.number(folder + "/type") == ARPHRD_INFINIBAND) {
    return NicKind::Infiniband;
  }
  return root.exists(folder + "/device/physfn") ? NicKind::VirtualFunction : NicKind::Physical;
}

bool is_tunnel(const sys::Root& root, const std::string& folder, const std::string& type) {
  return type == "vxlan" || type == "geneve" || type == "wireguard" ||
         root.exists(folder + "/tun_flags");
}

bool has_lower(const sys::Root& root, const std::string& folder) {
  return std::ranges::any_of(root.list(folder),
                             [](const std::string& name) { return name.starts_with("lower_"); });
}

// A veth's iflink is its peer, which may be in another namespace: no lower device shows here.
bool is_veth(const sys::Root& root, const std::string& folder) {
  const auto index = root.number(folder + "/ifindex");
  const auto link = root.number(folder + "/iflink");
  return index && link && *link != 0 && *index != *link && !has_lower(root, folder);
}

NicKind kind_without_device(const sys::Root& root, const std::string& folder,
                            const std::string& type) {
  if (is_tunnel(root, folder, type)) {
    return NicKind::Tunnel;
  }
  if (root.number(folder + "/type") != ARPHRD_ETHER) {
    return NicKind::Virtual;
  }
  return is_veth(root, folder) ? NicKind::Veth : NicKind::Virtual;
}

}  // namespace

NicKind read_kind(const sys::Root& root, const std::string& name) {
  const std::string folder = "/sys/class/net/" + name;
  if (!root.exists(folder + "/type") && !root.exists(folder + "/ifindex")) {
    return name == "lo" ? NicKind::Loopback : NicKind::Unknown;
  }
  const std::string type = device_type(root, folder);
  if (root.number(folder + "/type") == ARPHRD_LOOPBACK) {
    return NicKind::Loopback;
  }
  if (type == "wlan" || root.exists(folder + "/wireless") || root.exists(folder + "/phy80211")) {
    return NicKind::Wireless;
  }
  if (type == "bond" || root.exists(folder + "/bonding")) {
    return NicKind::Bond;
  }
  if (type == "bridge" || root.exists(folder + "/bridge")) {
    return NicKind::Bridge;
  }
  if (type == "vlan" || root.exists("/proc/net/vlan/" + name)) {
    return NicKind::Vlan;
  }
  return root.exists(folder + "/device") ? kind_of_device(root, folder)
                                         : kind_without_device(root, folder, type);
}

}  // namespace chokepoint::host
