#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/host/nic.h"
#include "base/host/words.h"

namespace chokepoint::host {
namespace {

class Writer {
 public:
  Writer(const Nic& nic, Facts& facts) : name_(nic.name), facts_(facts) {}

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

void add_link(const Nic& nic, Writer& writer) {
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

void add_structure(const Nic& nic, Writer& writer) {
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

void add_driver(const LinkAnswers& answers, std::string_view source, Writer& writer) {
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

void add_settings(const LinkAnswers& answers, std::string_view source, Writer& writer) {
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

void add_lists(const LinkAnswers& answers, std::string_view source, Writer& writer) {
  for (const net::Feature& feature : answers.features) {
    writer.add("feature_" + feature.name,
               std::string(feature.active ? "on" : "off") + (feature.fixed ? " [fixed]" : ""),
               std::string(source));
  }
  // A counter that never moved says nothing, and a modern driver has thousands.
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
  Writer writer(nic, facts);
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
