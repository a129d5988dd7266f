#include <fmt/format.h>
#include <fmt/ranges.h>
#include <net/if.h>
#include <net/if_arp.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "base/host/kernel_text.h"
#include "base/host/network.h"

namespace chokepoint::host {
namespace {

// No port has counted so far; sums of such counts stay within their type.
constexpr std::int64_t kLargestCount = std::int64_t{1} << 60;

std::optional<std::int64_t> positive(std::optional<std::int64_t> value) {
  // A driver without a link reports -1, some as an unsigned number.
  constexpr std::int64_t kUnsignedMinusOne = 4294967295;
  return value && *value > 0 && *value < kUnsignedMinusOne ? value : std::nullopt;
}

std::optional<bool> truth(std::optional<std::int64_t> value) {
  return value ? std::optional(*value != 0) : std::nullopt;
}

std::vector<std::string> lower_of(const sys::Root& root, const std::string& folder) {
  constexpr std::string_view kLower = "lower_";
  std::vector<std::string> names;
  for (const std::string& entry : root.list(folder)) {
    if (entry.starts_with(kLower)) {
      names.push_back(entry.substr(kLower.size()));
    }
  }
  return names;
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

std::optional<Bond> read_bond(const sys::Root& root, const std::string& folder) {
  const auto mode = root.text(folder + "/bonding/mode");
  if (!mode) {
    return std::nullopt;
  }
  Bond bond{.mode = first_word(*mode),
            .hash_policy = root.text(folder + "/bonding/xmit_hash_policy").transform(first_word),
            .members = words_of(root.text(folder + "/bonding/slaves").value_or(""))};
  return bond;
}

// The PCI device it belongs to: with virtio and with subfunctions there is a device in between.
std::optional<PciDevice> read_pci(const sys::Root& root, const std::string& folder) {
  const auto device = root.resolve(folder + "/device");
  const auto address = device ? pci_address_in(*device) : std::nullopt;
  return address ? read_pci_device(root, *address) : std::nullopt;
}

int count_set_masks(const sys::Root& root, const std::string& folder, std::string_view prefix,
                    std::string_view file) {
  int count = 0;
  for (const std::string& queue : root.list(folder + "/queues")) {
    if (!queue.starts_with(prefix)) {
      continue;
    }
    const auto mask = root.text(folder + "/queues/" + queue + "/" + std::string(file));
    count += mask && mask->find_first_not_of("0,") != std::string::npos ? 1 : 0;
  }
  return count;
}

void read_queues(const sys::Root& root, const std::string& folder, Nic& nic) {
  for (const std::string& queue : root.list(folder + "/queues")) {
    nic.rx_queues += queue.starts_with("rx-") ? 1 : 0;
    nic.tx_queues += queue.starts_with("tx-") ? 1 : 0;
  }
  nic.rps_queues = count_set_masks(root, folder, "rx-", "rps_cpus");
  nic.xps_queues = count_set_masks(root, folder, "tx-", "xps_cpus");
}

void read_counters(const sys::Root& root, const std::string& folder, Nic& nic) {
  for (const std::string& name : root.list(folder + "/statistics")) {
    const auto value = root.number(folder + "/statistics/" + name);
    if (value && *value >= 0 && *value <= kLargestCount) {
      nic.counters.emplace(name, *value);
    }
  }
  if (const auto changes = root.number(folder + "/carrier_changes")) {
    nic.counters.emplace("carrier_changes", *changes);
  }
}

// Beside its queues a NIC has interrupts for commands, its mailbox, link changes and RDMA.
bool serves_a_queue(const Interrupt& interrupt, const std::string& interface) {
  constexpr std::array<std::string_view, 6> kMarks{"TxRx", "comp", "input", "output", "rx", "tx"};
  constexpr std::string_view kRdma = "irdma";
  return !interrupt.name.contains(kRdma) &&
         (interrupt.name.contains(interface) ||
          std::ranges::any_of(kMarks, [&](auto mark) { return interrupt.name.contains(mark); }));
}

std::vector<Interrupt> read_queue_interrupts(const sys::Root& root, const InterruptTable& table,
                                             const PciDevice& device,
                                             const std::string& interface) {
  std::vector<int> numbers;
  for (const std::string& name :
       root.list("/sys/bus/pci/devices/" + device.address + "/msi_irqs")) {
    if (const auto number = number_of(name)) {
      numbers.push_back(static_cast<int>(*number));
    }
  }
  std::ranges::sort(numbers);
  std::vector<Interrupt> all = read_affinity(root, table, numbers);
  std::vector<Interrupt> queues;
  std::ranges::copy_if(all, std::back_inserter(queues), [&](const Interrupt& interrupt) {
    return serves_a_queue(interrupt, interface);
  });
  return queues.empty() ? all : queues;
}

// Adapters that the subnet manager or a switch takes for one have one system image GUID.
void read_card(const sys::Root& root, const std::string& folder, Nic& nic) {
  for (const std::string& device : root.list(folder + "/device/infiniband")) {
    nic.rdma_device = device;
    nic.card_id = root.text(folder + "/device/infiniband/" + device + "/sys_image_guid");
  }
}

std::optional<int> numa_node_of(const sys::Root& root, const std::string& folder, const Nic& nic) {
  if (nic.pci && nic.pci->numa_node) {
    return nic.pci->numa_node;
  }
  const auto node = root.number(folder + "/device/numa_node");
  return node && *node >= 0 ? std::optional(static_cast<int>(*node)) : std::nullopt;
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

// Over IPv4, the minimum that they add; nullopt of what is no tunnel, or adds an unknown number.
std::optional<int> tunnel_header_bytes(const sys::Root& root, const std::string& folder) {
  constexpr int kIpv4 = 20;
  constexpr int kGre = 4;
  constexpr int kUdp = 8;
  constexpr int kVxlan = 8 + 14;              // with the Ethernet header that travels inside
  constexpr int kWireguard = 4 + 4 + 8 + 16;  // type, receiver, counter, authentication
  const std::string type = device_type(root, folder);
  if (type == "vxlan" || type == "geneve") {
    return kIpv4 + kUdp + kVxlan;
  }
  if (type == "wireguard") {
    return kIpv4 + kUdp + kWireguard;
  }
  switch (root.number(folder + "/type").value_or(0)) {
    case ARPHRD_TUNNEL:
    case ARPHRD_SIT:
      return kIpv4;
    case ARPHRD_IPGRE:
      return kIpv4 + kGre;
    default:
      return std::nullopt;
  }
}

void read_link(const sys::Root& root, const std::string& folder, Nic& nic) {
  const auto flags = root.number(folder + "/flags");
  nic.enabled = flags ? std::optional((*flags & IFF_UP) != 0) : std::nullopt;
  nic.carrier = truth(root.number(folder + "/carrier"));
  nic.operstate = root.text(folder + "/operstate");
  nic.speed_mbps = positive(root.number(folder + "/speed"));
  nic.duplex = root.text(folder + "/duplex");
  if (nic.duplex == "unknown") {
    nic.duplex.reset();
  }
  nic.mtu = positive(root.number(folder + "/mtu"));
  nic.hardware_address = root.text(folder + "/address");
}

}  // namespace

const Nic* other_half(const Network& network, const Nic& nic) {
  const auto number = [](const PciDevice& device) { return device.address.back(); };
  if (nic.kind != NicKind::Physical || !nic.pci || !nic.card_id) {
    return nullptr;
  }
  // The number of a PCI function is that of the port; the rest of the address, that of the link.
  const auto other = std::ranges::find_if(network.nics, [&](const Nic& each) {
    return each.name != nic.name && each.kind == nic.kind && each.card_id == nic.card_id &&
           each.pci && number(*each.pci) == number(*nic.pci) &&
           each.pci->address != nic.pci->address;
  });
  return other == network.nics.end() ? nullptr : &*other;
}

std::string_view name_of(NicKind kind) {
  constexpr std::array<std::string_view, 14> kNames{
      "unknown",  "physical", "virtual-function", "paravirtual", "infiniband", "usb",
      "wireless", "bond",     "bridge",           "vlan",        "veth",       "tunnel",
      "loopback", "virtual"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Nic read_nic(const sys::Root& root, const LinkQuery& query, const InterruptTable& interrupts,
             const std::string& name) {
  const std::string folder = "/sys/class/net/" + name;
  Nic nic{.name = name, .kind = read_kind(root, name)};
  read_link(root, folder, nic);
  nic.settings = query.ask(name);
  nic.master = root.resolve(folder + "/master").transform(last_part);
  nic.lower = lower_of(root, folder);
  nic.bond = read_bond(root, folder);
  if (nic.kind != NicKind::Usb) {
    nic.pci = read_pci(root, folder);
    read_card(root, folder, nic);
  }
  if (nic.kind == NicKind::Tunnel) {
    nic.header_bytes = tunnel_header_bytes(root, folder);
  }
  nic.numa_node = numa_node_of(root, folder, nic);
  nic.driver = root.resolve(folder + "/device/driver").transform(last_part);
  if (!nic.driver && nic.settings.driver) {
    nic.driver = nic.settings.driver->driver;
  }
  read_queues(root, folder, nic);
  read_counters(root, folder, nic);
  if (nic.pci) {
    nic.interrupts = read_queue_interrupts(root, interrupts, *nic.pci, name);
  }
  return nic;
}

bool is_up(const Nic& nic) { return nic.enabled.value_or(true) && nic.carrier.value_or(false); }

bool is_port(const Nic& nic) {
  return nic.kind == NicKind::Physical || nic.kind == NicKind::VirtualFunction ||
         nic.kind == NicKind::Infiniband;
}

std::optional<std::int64_t> statistic(const Nic& nic, std::string_view name) {
  const auto& all = nic.settings.statistics;
  const auto found = std::ranges::find(all, name, &net::Statistic::name);
  return found == all.end() ? std::nullopt : std::optional(found->value);
}

std::optional<std::int64_t> counter(const Nic& nic, const std::string& name) {
  const auto found = nic.counters.find(name);
  return found == nic.counters.end() ? std::nullopt : std::optional(found->second);
}

bool has_address(const Nic& nic) {
  return std::ranges::any_of(nic.settings.addresses,
                             [](const auto& address) { return !address.address.is_link_local(); });
}

namespace {

// Drivers of interfaces that a hypervisor makes up.
constexpr std::array<std::string_view, 9> kParavirtualDrivers{
    "virtio_net", "vmxnet3", "hv_netvsc", "vif",       "xen_netfront",
    "netfront",   "ena",     "gve",       "vmw_pvrdma"};

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
         tunnel_header_bytes(root, folder) || root.exists(folder + "/tun_flags");
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

namespace {

class NicFactWriter {
 public:
  NicFactWriter(const Nic& nic, Facts& facts) : name_(nic.name), facts_(facts) {}

  void add(const std::string& key, std::string value, std::string source) {
    if (!value.empty()) {
      facts_.push_back({"nic", name_, key, std::move(value), std::move(source)});
    }
  }
  template <class T>
  void add(const std::string& key, const std::optional<T>& value, std::string_view source) {
    if (value) {
      add(key, fmt::format("{}", *value), std::string(source));
    }
  }
  // From a file of the interface's folder.
  template <class T>
  void add_file(const std::string& key, const std::optional<T>& value, std::string_view file) {
    add(key, value, fmt::format("/sys/class/net/{}/{}", name_, file));
  }

 private:
  const std::string& name_;
  Facts& facts_;
};

void add_link(const Nic& nic, NicFactWriter& writer) {
  writer.add_file("kind", std::optional(name_of(nic.kind)), "");
  writer.add_file("operstate", nic.operstate, "operstate");
  writer.add_file("enabled", nic.enabled, "flags");
  writer.add_file("carrier", nic.carrier, "carrier");
  writer.add_file("speed_mbps", nic.speed_mbps, "speed");
  writer.add_file("duplex", nic.duplex, "duplex");
  writer.add_file("mtu", nic.mtu, "mtu");
  writer.add_file("hardware_address", nic.hardware_address, "address");
  writer.add_file("driver", nic.driver, "device/driver");
  writer.add_file("numa_node", nic.numa_node, "device/numa_node");
  writer.add_file("master", nic.master, "master");
  writer.add_file("lower", std::optional(fmt::format("{}", fmt::join(nic.lower, " "))), "");
}

// Unsigned, so that no file's nonsense overflows.
std::uint64_t total(const Interrupt& interrupt) {
  std::uint64_t sum = 0;
  for (const std::int64_t count : interrupt.counts) {
    sum += static_cast<std::uint64_t>(count);
  }
  return sum;
}

void add_structure(const Nic& nic, NicFactWriter& writer) {
  if (nic.bond) {
    writer.add_file("bond_mode", std::optional(nic.bond->mode), "bonding/mode");
    writer.add_file("bond_hash_policy", nic.bond->hash_policy, "bonding/xmit_hash_policy");
    writer.add_file("bond_members",
                    std::optional(fmt::format("{}", fmt::join(nic.bond->members, " "))),
                    "bonding/slaves");
  }
  if (nic.pci) {
    writer.add_file("pci_address", std::optional(nic.pci->address), "device");
  }
  writer.add_file("card_id", nic.card_id, "device/infiniband/*/sys_image_guid");
  writer.add_file("header_bytes", nic.header_bytes, "uevent");
  writer.add_file("rx_queues", std::optional(nic.rx_queues), "queues");
  writer.add_file("tx_queues", std::optional(nic.tx_queues), "queues");
  writer.add_file("rps_queues", std::optional(nic.rps_queues), "queues/rx-*/rps_cpus");
  writer.add_file("xps_queues", std::optional(nic.xps_queues), "queues/tx-*/xps_cpus");
  for (const Interrupt& interrupt : nic.interrupts) {
    writer.add(fmt::format("irq_{}_count", interrupt.number), std::to_string(total(interrupt)),
               "/proc/interrupts");
    if (interrupt.cpus) {
      writer.add(fmt::format("irq_{}_cpus", interrupt.number), list_of_cpus(*interrupt.cpus),
                 fmt::format("/proc/irq/{}/effective_affinity_list", interrupt.number));
    }
  }
}

void add_driver(const LinkAnswers& answers, std::string_view source, NicFactWriter& writer) {
  if (answers.driver) {
    writer.add("driver_version", answers.driver->version, std::string(source));
    writer.add("firmware", answers.driver->firmware, std::string(source));
    writer.add("bus", answers.driver->bus, std::string(source));
  }
  if (const auto& modes = answers.modes) {
    writer.add("fastest_mbps", modes->fastest_mbps, source);
    writer.add("partner_fastest_mbps", modes->partner_fastest_mbps, source);
    writer.add("autonegotiation", modes->autonegotiation, source);
  }
}

void add_settings(const LinkAnswers& answers, std::string_view source, NicFactWriter& writer) {
  if (const auto& rings = answers.rings) {
    writer.add("ring_rx", rings->rx, source);
    writer.add("ring_tx", rings->tx, source);
    writer.add("ring_rx_max", rings->rx_max, source);
    writer.add("ring_tx_max", rings->tx_max, source);
  }
  if (const auto& channels = answers.channels) {
    writer.add("channels_combined", channels->combined, source);
    writer.add("channels_combined_max", channels->combined_max, source);
    writer.add("channels_rx", channels->rx, source);
    writer.add("channels_rx_max", channels->rx_max, source);
    writer.add("channels_tx", channels->tx, source);
    writer.add("channels_tx_max", channels->tx_max, source);
  }
  if (const auto& coalescing = answers.coalescing) {
    writer.add("coalesce_adaptive_rx", coalescing->adaptive_rx, source);
    writer.add("coalesce_adaptive_tx", coalescing->adaptive_tx, source);
    writer.add("coalesce_rx_usecs", coalescing->rx_usecs, source);
    writer.add("coalesce_tx_usecs", coalescing->tx_usecs, source);
  }
  if (const auto& pause = answers.pause) {
    writer.add("pause_autonegotiation", pause->autonegotiation, source);
    writer.add("pause_rx", pause->rx, source);
    writer.add("pause_tx", pause->tx, source);
  }
}

void add_lists(const LinkAnswers& answers, std::string_view source, NicFactWriter& writer) {
  for (const net::Feature& feature : answers.features) {
    writer.add("feature_" + feature.name,
               std::string(feature.active ? "on" : "off") + (feature.fixed ? " [fixed]" : ""),
               std::string(source));
  }
  // A counter of 0 is left out: a modern driver has thousands.
  for (const net::Statistic& statistic : answers.statistics) {
    if (statistic.value != 0) {
      writer.add("stat_" + statistic.name, std::to_string(statistic.value), std::string(source));
    }
  }
  writer.add("qdisc", fmt::format("{}", fmt::join(answers.qdiscs, " ")), "rtnetlink");
  for (const net::InterfaceAddress& address : answers.addresses) {
    writer.add(fmt::format("address_{}", name_of(address.address.family())),
               fmt::format("{}/{}", address.address.text(), address.prefix), "rtnetlink");
  }
}

}  // namespace

void append_facts(const Nic& nic, std::string_view query_source, Facts& facts) {
  NicFactWriter writer(nic, facts);
  add_link(nic, writer);
  add_structure(nic, writer);
  add_driver(nic.settings, query_source, writer);
  add_settings(nic.settings, query_source, writer);
  add_lists(nic.settings, query_source, writer);
  for (const auto& [name, value] : nic.counters) {
    writer.add_file(name, std::optional(value),
                    name == "carrier_changes" ? name : "statistics/" + name);
  }
}

}  // namespace chokepoint::host
