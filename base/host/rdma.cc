#include "base/host/rdma.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/host/fact.h"
#include "base/host/kernel_text.h"

namespace chokepoint::host {
namespace {

constexpr std::string_view kInfiniband = "/sys/class/infiniband";

std::string device_folder(const std::string& device) {
  return fmt::format("{}/{}", kInfiniband, device);
}

std::string port_folder(const std::string& device, int port) {
  return fmt::format("{}/{}/ports/{}", kInfiniband, device, port);
}

// "4: ACTIVE", "5: LinkUp"
std::optional<std::string> name_after_number(std::optional<std::string> text) {
  if (!text) {
    return std::nullopt;
  }
  const std::size_t colon = text->find(": ");
  return colon == std::string::npos ? *text : text->substr(colon + 2);
}

std::optional<RdmaGid> read_gid(const sys::Root& root, const std::string& folder,
                                const std::string& index) {
  const std::optional<std::int64_t> number = number_of(index);
  const std::optional<std::string> text = root.text(folder + "/gids/" + index);
  if (!number || !text) {
    return std::nullopt;
  }
  const Result<net::Address> address = net::Address::parse(*text);
  if (!address || address->is_unspecified()) {
    return std::nullopt;
  }
  return RdmaGid{.index = static_cast<int>(*number),
                 .address = *address,
                 .type = root.text(folder + "/gid_attrs/types/" + index),
                 .netdev = root.text(folder + "/gid_attrs/ndevs/" + index)};
}

std::vector<RdmaGid> read_gids(const sys::Root& root, const std::string& folder) {
  std::vector<RdmaGid> gids;
  for (const std::string& index : root.list(folder + "/gids")) {
    if (const std::optional<RdmaGid> gid = read_gid(root, folder, index)) {
      gids.push_back(*gid);
    }
  }
  std::ranges::sort(gids, {}, &RdmaGid::index);
  return gids;
}

// Named by its GIDs, else by the PCI function that both belong to.
std::optional<std::string> netdev_of(const sys::Root& root, const std::string& device,
                                     const RdmaPort& port) {
  for (const RdmaGid& gid : port.gids) {
    if (gid.netdev) {
      return gid.netdev;
    }
  }
  const std::vector<std::string> names = root.list(device_folder(device) + "/device/net");
  return names.size() == 1 ? std::optional(names.front()) : std::nullopt;
}

RdmaPort read_port(const sys::Root& root, const std::string& device, int number) {
  const std::string folder = port_folder(device, number);
  RdmaPort port{.number = number,
                .state = name_after_number(root.text(folder + "/state")),
                .physical = name_after_number(root.text(folder + "/phys_state")),
                .link_layer = root.text(folder + "/link_layer"),
                .rate = root.text(folder + "/rate"),
                .netdev = {},
                .netdev_mtu_bytes = {},
                .active_mtu_bytes = {},
                .gids = read_gids(root, folder)};
  port.netdev = netdev_of(root, device, port);
  if (port.netdev) {
    port.netdev_mtu_bytes = root.number("/sys/class/net/" + *port.netdev + "/mtu");
  }
  return port;
}

RdmaDevice read_device(const sys::Root& root, const std::string& name) {
  const std::string folder = device_folder(name);
  RdmaDevice device{.name = name,
                    .firmware = root.text(folder + "/fw_ver"),
                    .pci_address = {},
                    .numa_node = root.number(folder + "/device/numa_node"),
                    .pci = {},
                    .ports = {}};
  if (device.numa_node == -1) {
    device.numa_node.reset();
  }
  if (const std::optional<std::string> path = root.resolve(folder + "/device")) {
    device.pci_address = path->substr(path->find_last_of('/') + 1);
    device.pci = read_pci_device(root, *device.pci_address);
  }
  for (const std::string& port : root.list(folder + "/ports")) {
    if (const std::optional<std::int64_t> number = number_of(port)) {
      device.ports.push_back(read_port(root, name, static_cast<int>(*number)));
    }
  }
  return device;
}

void append_port(const RdmaDevice& device, const RdmaPort& port, Facts& facts) {
  const std::string folder = port_folder(device.name, port.number);
  FactList list(facts, "rdma", fmt::format("{}/{}", device.name, port.number));
  list.add("state", port.state, folder + "/state");
  list.add("physical", port.physical, folder + "/phys_state");
  list.add("link_layer", port.link_layer, folder + "/link_layer");
  list.add("rate", port.rate, folder + "/rate");
  list.add("netdev", port.netdev, folder + "/gid_attrs/ndevs");
  for (const RdmaGid& gid : port.gids) {
    list.add_text(fmt::format("gid_{}", gid.index),
                  fmt::format("{} {}", gid.address.text(), gid.type.value_or("?")),
                  fmt::format("{}/gids/{}", folder, gid.index));
  }
}

}  // namespace

std::vector<RdmaDevice> read_rdma(const sys::Root& root) {
  std::vector<RdmaDevice> devices;
  for (const std::string& name : root.list(kInfiniband)) {
    devices.push_back(read_device(root, name));
  }
  return devices;
}

std::optional<std::string> netdev_of_port(const sys::Root& root, const std::string& device,
                                          int port) {
  // The kernel numbers the interfaces of one device from 0, RDMA ports from 1.
  const std::vector<std::string> names = root.list(device_folder(device) + "/device/net");
  for (const std::string& name : names) {
    if (names.size() == 1 ||
        root.number(fmt::format("/sys/class/net/{}/dev_port", name)) == port - 1) {
      return name;
    }
  }
  return read_port(root, device, port).netdev;
}

void append_facts(const std::vector<RdmaDevice>& devices, Facts& facts) {
  for (const RdmaDevice& device : devices) {
    FactList list(facts, "rdma", device.name);
    list.add("firmware", device.firmware, device_folder(device.name) + "/fw_ver");
    list.add("pci_address", device.pci_address, device_folder(device.name) + "/device");
    if (!device.pci_address) {
      list.add_text(kRdmaInSoftware, "yes", device_folder(device.name) + "/device");
    }
    list.add("numa_node", device.numa_node, device_folder(device.name) + "/device/numa_node");
    for (const RdmaPort& port : device.ports) {
      append_port(device, port, facts);
    }
  }
}

bool is_active(const RdmaPort& port) { return port.state == "ACTIVE"; }

bool is_ethernet(const RdmaPort& port) { return port.link_layer == "Ethernet"; }

std::optional<double> rdma_rate_mbps(std::string_view rate) {
  double gbps = 0;
  const auto [end, error] = std::from_chars(rate.data(), rate.data() + rate.size(), gbps);
  const bool is_rate = error == std::errc() && rate.contains("Gb/sec");
  return is_rate && gbps > 0 ? std::optional(gbps * 1e3) : std::nullopt;
}

int roce_mtu_bytes(std::int64_t netdev_mtu_bytes) {
  // IP (40), UDP (8), base transport header (12), the largest extensions (4 + 28), checksum (4).
  constexpr int kHeaders = 96;
  for (const int mtu : {4096, 2048, 1024, 512, 256}) {
    if (netdev_mtu_bytes >= mtu + kHeaders) {
      return mtu;
    }
  }
  return 0;
}

}  // namespace chokepoint::host
