#include "base/host/nic.h"

#include <net/if.h>

#include <algorithm>
#include <array>
#include <ranges>

#include "base/host/nic_kind.h"
#include "base/host/words.h"

namespace chokepoint::host {
namespace {

std::string last_part(std::string_view path) {
  return std::string(path.substr(path.find_last_of('/') + 1));
}

// No port has counted so far; sums of such counts stay within their type.
constexpr std::int64_t kLargestCount = std::int64_t{1} << 60;

std::optional<std::int64_t> positive(std::optional<std::int64_t> value) {
  // A driver without a link says -1, some say it unsigned.
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

std::optional<int> numa_node_of(const sys::Root& root, const std::string& folder, const Nic& nic) {
  if (nic.pci && nic.pci->numa_node) {
    return nic.pci->numa_node;
  }
  const auto node = root.number(folder + "/device/numa_node");
  return node && *node >= 0 ? std::optional(static_cast<int>(*node)) : std::nullopt;
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

}  // namespace chokepoint::host
