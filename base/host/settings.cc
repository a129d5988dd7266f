#include "base/host/settings.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/host/cpu.h"
#include "base/host/kernel.h"
#include "base/host/memory.h"
#include "base/host/network.h"
#include "base/host/rdma.h"

namespace chokepoint::host {
namespace {

// Of a category those keys that are settings; a key that ends with "*" stands for all that begin
// so.
struct SettingKeys {
  std::string_view category;
  std::string_view key;
};

constexpr auto kSettingKeys = std::to_array<SettingKeys>({
    {"kernel", "release"},
    {"kernel", "distribution"},
    {"sysctl", "*"},
    {"cpu", "model"},
    {"cpu", "online"},
    {"cpu", "cores"},
    {"cpu", "multithreading"},
    {"cpu", "isolated"},
    {"cpu", "driver"},
    {"cpu", "governor"},
    {"cpu", "preference"},
    {"cpu", "allowed_khz"},
    {"memory", "total_bytes"},
    {"memory", "huge_page_bytes"},
    {"memory", "huge_pages"},
    {"memory", "transparent_huge_pages"},
    {"time", "source"},
    {"nic", "default_route"},
    {"nic", "pci_address"},
    {"nic", "carrier"},
    {"nic", "speed_mbps"},
    {"nic", "duplex"},
    {"nic", "mtu"},
    {"nic", "driver"},
    {"nic", "driver_version"},
    {"nic", "firmware"},
    {"nic", "numa_node"},
    {"nic", "master"},
    {"nic", "lower"},
    {"nic", "bond_*"},
    {"nic", "rx_queues"},
    {"nic", "tx_queues"},
    {"nic", "rps_queues"},
    {"nic", "xps_queues"},
    {"nic", "autonegotiation"},
    {"nic", "ring_rx"},
    {"nic", "ring_tx"},
    {"nic", "channels_combined"},
    {"nic", "channels_rx"},
    {"nic", "channels_tx"},
    {"nic", "coalesce_*"},
    {"nic", "pause_*"},
    {"nic", "feature_*"},
    {"nic", "qdisc"},
    {"pci", "speed_gts"},
    {"pci", "width"},
    {"pci", "max_speed_gts"},
    {"pci", "max_width"},
    {"pci", "payload_bytes"},
    {"pci", "driver"},
    {"pci", "numa_node"},
    {"rdma", "firmware"},
    {"rdma", "state"},
    {"rdma", "link_layer"},
    {"rdma", "rate"},
    {"gpu", "driver_version"},
    {"gpu", "name"},
    {"gpu", "driver"},
    {"gpu", "iommu"},
    {"library", "*"},
    {"environment", "*"},
    {"process", "locked_memory_bytes_*"},
    {"process", "open_files_*"},
});

// Kinds of interfaces that carry no job's data unless they have an address, like one end of a
// container's pair.
constexpr auto kVirtual = std::to_array<std::string_view>({"veth", "virtual", "bridge", "tunnel"});

// Bounds of what is made and of what is accepted: a host with more shows the first of them.
constexpr std::size_t kMaxSubjects = 512;
constexpr std::size_t kMaxKeys = 256;
constexpr std::size_t kLongestSetting = 1024;

constexpr std::string_view kFixed = " [fixed]";  // a feature that cannot be changed

bool is_setting(const Fact& fact) {
  if (fact.key.starts_with("feature_") && fact.value.ends_with(kFixed)) {
    return false;
  }
  return std::ranges::any_of(kSettingKeys, [&](const SettingKeys& each) {
    return fact.category == each.category &&
           (each.key.ends_with('*') ? fact.key.starts_with(each.key.substr(0, each.key.size() - 1))
                                    : fact.key == each.key);
  });
}

// Loopback, and what is virtual and has no address.
std::set<std::string> unused_interfaces(const Facts& facts) {
  std::set<std::string> unused;
  std::set<std::string> addressed;
  for (const Fact& fact : facts) {
    if (fact.category == "nic" && fact.key == "kind" &&
        (fact.value == "loopback" || std::ranges::find(kVirtual, fact.value) != kVirtual.end())) {
      unused.insert(fact.subject);
    }
    if (fact.category == "nic" && fact.key.starts_with("address_")) {
      addressed.insert(fact.subject);
    }
  }
  std::erase_if(unused,
                [&](const std::string& name) { return name != "lo" && addressed.contains(name); });
  return unused;
}

// A frequency policy is the subject of such a fact. All policies are shown as one, with every value
// that any of them has.
bool is_of_core(const Fact& fact) { return fact.category == "cpu" && !fact.subject.empty(); }

void add_value(std::string& values, const std::string& value) {
  constexpr std::string_view kBetween = ", ";
  const std::string padded = std::string(kBetween) + values + std::string(kBetween);
  if (values.empty()) {
    values = value;
  } else if (padded.find(std::string(kBetween) + value + std::string(kBetween)) ==
             std::string::npos) {
    values += std::string(kBetween) + value;
  }
  values.resize(std::min(values.size(), kLongestSetting));
}

void add(Settings& settings, const std::string& subject, const Fact& fact) {
  constexpr std::size_t kMaxOthers = kMaxSubjects - 1;  // than the processors
  if (fact.key.size() > kLongestSetting || subject.size() > kLongestSetting ||
      (settings.size() >= kMaxOthers && !settings.contains(subject))) {
    return;
  }
  auto& values = settings[subject];
  if (values.size() < kMaxKeys || values.contains(fact.key)) {
    values[fact.key] = fact.value.substr(0, kLongestSetting);
  }
}

}  // namespace

Settings settings_of(const Facts& facts) {
  const std::set<std::string> unused = unused_interfaces(facts);
  Settings settings;
  for (const Fact& fact : facts) {
    if (!is_setting(fact) || (fact.category == "nic" && unused.contains(fact.subject))) {
      continue;
    }
    if (is_of_core(fact)) {
      add_value(settings["cpu"][fact.key], fact.value);
      continue;
    }
    const std::string subject =
        fact.subject.empty() ? fact.category : fact.category + " " + fact.subject;
    add(settings, subject, fact);
  }
  return settings;
}

Settings read_settings(const sys::Root& root) {
  Facts facts;
  append_facts(read_kernel(root), facts);
  append_facts(read_network(root), facts);
  append_facts(read_cpu(root), facts);
  append_facts(read_memory(root), facts);
  append_facts(read_sysctls(root), facts);
  append_facts(read_rdma(root), facts);
  return settings_of(facts);
}

Settings settings_in(const nlohmann::ordered_json& json) {
  Settings settings;
  if (!json.is_object() || json.size() > kMaxSubjects) {
    return settings;
  }
  for (const auto& [subject, values] : json.items()) {
    if (!values.is_object() || values.size() > kMaxKeys || subject.size() > kLongestSetting) {
      return {};
    }
    for (const auto& [key, value] : values.items()) {
      if (!value.is_string() || key.size() > kLongestSetting ||
          value.get_ref<const std::string&>().size() > kLongestSetting) {
        return {};
      }
      settings[subject][key] = value.get<std::string>();
    }
  }
  return settings;
}

}  // namespace chokepoint::host
