#include "analysis/report/host_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <sstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include "analysis/attribution/hosts.h"
#include "analysis/attribution/route.h"
#include "base/host/pci.h"
#include "base/json/codec.h"
#include "base/record/names.h"

namespace chokepoint::analysis {
namespace {

using host::PciDevice;
using host::PciHop;
using host::PciLink;

std::optional<std::int64_t> count_of(const NodeData& node, std::string_view category,
                                     const std::string& subject, std::string_view key) {
  const auto number = fact_number(node, category, subject, key);
  return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

// In the order of the record; without the host itself, whose subject is empty.
std::vector<std::string> subjects_of(const NodeData& node, std::string_view category) {
  std::vector<std::string> subjects;
  for (const record::Fact& fact : node.facts) {
    if (fact.category == category && !fact.subject.empty() &&
        std::ranges::find(subjects, fact.subject) == subjects.end()) {
      subjects.push_back(fact.subject);
    }
  }
  return subjects;
}

std::optional<int> valid_width(std::optional<double> width) {
  constexpr double kMaxLanes = 32;
  return width && *width >= 1 && *width <= kMaxLanes ? std::optional(static_cast<int>(*width))
                                                     : std::nullopt;
}

std::optional<double> valid_speed(std::optional<double> gts) {
  return gts.value_or(0) > 0 ? gts : std::nullopt;
}

PciLink link_of(const NodeData& node, const char* category, const std::string& subject,
                const std::string& prefix) {
  return {.speed_gts = valid_speed(fact_number(node, category, subject, prefix + "speed_gts")),
          .width = valid_width(fact_number(node, category, subject, prefix + "width"))};
}

PciHop hop_of(const NodeData& node, const std::string& address) {
  PciHop hop{.address = address,
             .current = link_of(node, "pci", address, ""),
             .maximum = link_of(node, "pci", address, "max_")};
  const auto payload = fact_number(node, "pci", address, "payload_bytes");
  constexpr double kMaxPayload = 4096;
  if (payload && *payload >= 1 && *payload <= kMaxPayload) {
    hop.payload_bytes = static_cast<int>(*payload);
  }
  return hop;
}

constexpr std::size_t kMaxHops = 64;

// The device as base/host read it for these facts.
PciDevice device_of(const NodeData& node, const std::string& bus_id) {
  PciDevice device{.address = bus_id};
  std::istringstream path(fact_text(node, "pci", bus_id, "path"));
  for (std::string address; device.path.size() < kMaxHops && path >> address;) {
    device.path.push_back(hop_of(node, address));
  }
  if (device.path.empty()) {
    device.path.push_back(hop_of(node, bus_id));
  }
  return device;
}

// An idle GPU reduces the speed of its link, so readings while it worked come first.
PciLink link_in_series(const NodeData& node, const std::string& subject) {
  const PciLink busy{.speed_gts = valid_speed(last_level(node, record::kPcieBusySpeed, subject)),
                     .width = valid_width(last_level(node, record::kPcieBusyWidth, subject))};
  return busy.is_known()
             ? busy
             : PciLink{.speed_gts = valid_speed(last_level(node, record::kPcieSpeed, subject)),
                       .width = valid_width(last_level(node, record::kPcieWidth, subject))};
}

std::optional<double> ceiling_of(const PciLink& link, int payload_bytes) {
  return link.is_known()
             ? std::optional(host::ceiling_mbps(*link.speed_gts, *link.width, payload_bytes))
             : std::nullopt;
}

// The last hop of the path is the card; facts of a GPU have its maximum, too.
PciLink most_of_card(const NodeData& node, const PciDevice& device) {
  const PciLink own = device.path.back().maximum;
  return own.is_known() ? own : link_of(node, "gpu", device.address, "max_");
}

// The link when the facts were read.
PciLink link_in_facts(const NodeData& node, const PciDevice& device) {
  const PciHop* narrowest = host::narrowest_hop(device);
  return narrowest != nullptr ? narrowest->current : link_of(node, "gpu", device.address, "");
}

// `bus_id` may be empty. `subject`: the card's name in the series, an interface's name or the GPU's
// address. nullopt where no link of it is known.
std::optional<PciePicture> pcie_of(const NodeData& node, const std::string& bus_id,
                                   const std::string& subject) {
  const PciDevice device = device_of(node, bus_id);
  const PciLink seen = link_in_series(node, subject);
  const PciLink now = seen.is_known() ? seen : link_in_facts(node, device);
  const PciLink most = most_of_card(node, device);
  if (!now.is_known() && !most.is_known()) {
    return std::nullopt;
  }
  const int payload = host::payload_of(device).value_or(host::kUsualPayloadBytes);
  return PciePicture{.bus_id = bus_id,
                     .speed_gts = now.speed_gts,
                     .width = now.width,
                     .max_speed_gts = most.speed_gts,
                     .max_width = most.width,
                     .ceiling_mbps = ceiling_of(now, payload),
                     .possible_mbps = ceiling_of(most, payload),
                     .source = seen.is_known() ? fmt::format("series pcie.* of {}", subject)
                                               : fmt::format("facts pci {}", bus_id)};
}

constexpr std::array kSysctls{"net.ipv4.tcp_congestion_control",
                              "net.ipv4.tcp_rmem",
                              "net.ipv4.tcp_wmem",
                              "net.core.rmem_max",
                              "net.core.wmem_max",
                              "net.core.default_qdisc",
                              "net.core.netdev_max_backlog",
                              "net.core.busy_poll",
                              "net.ipv4.tcp_slow_start_after_idle",
                              "net.ipv4.tcp_no_metrics_save",
                              "net.ipv4.tcp_mtu_probing",
                              "net.ipv4.tcp_window_scaling",
                              "net.ipv4.tcp_sack",
                              "net.ipv4.tcp_timestamps",
                              "net.ipv4.tcp_ecn",
                              "net.ipv4.tcp_limit_output_bytes",
                              "net.ipv4.tcp_notsent_lowat",
                              "kernel.numa_balancing",
                              "vm.zone_reclaim_mode"};

constexpr std::array kInterfaceKeys{"mtu",
                                    "duplex",
                                    "qdisc",
                                    "numa_node",
                                    "feature_tx-tcp-segmentation",
                                    "feature_tx-generic-segmentation",
                                    "feature_rx-gro",
                                    "feature_rx-lro",
                                    "ring_rx",
                                    "ring_rx_max",
                                    "ring_tx",
                                    "ring_tx_max",
                                    "channels_combined",
                                    "channels_combined_max",
                                    "coalesce_adaptive_rx",
                                    "coalesce_rx_usecs",
                                    "pause_rx",
                                    "pause_tx"};

void take(const NodeData& node, std::string_view category, std::string_view subject,
          std::string_view key, std::vector<record::Fact>& facts) {
  if (const record::Fact* fact = fact_of(node, category, subject, key)) {
    facts.push_back(*fact);
  }
}

// Cores have a policy each; equal ones become one fact.
void take_policies(const NodeData& node, std::string_view key, std::vector<record::Fact>& facts) {
  const std::size_t first = facts.size();
  std::vector<std::size_t> counts;
  for (const std::string& policy : subjects_of(node, "cpu")) {
    const record::Fact* fact = fact_of(node, "cpu", policy, key);
    if (fact == nullptr) {
      continue;
    }
    const auto begin = facts.begin() + static_cast<std::ptrdiff_t>(first);
    const auto same = std::find_if(
        begin, facts.end(), [fact](const record::Fact& each) { return each.value == fact->value; });
    if (same == facts.end()) {
      facts.push_back(*fact);
      counts.push_back(1);
    } else {
      ++counts[static_cast<std::size_t>(same - begin)];
    }
  }
  for (std::size_t place = 0; place < counts.size(); ++place) {
    if (counts[place] > 1) {
      facts[first + place].subject += fmt::format(" and {} more", counts[place] - 1);
    }
  }
}

void take_environment(const NodeData& node, std::vector<record::Fact>& facts) {
  for (const record::Fact& fact : node.facts) {
    if (fact.category == "environment" &&
        fact_of(node, "environment", fact.subject, fact.key) == &fact) {
      facts.push_back(fact);
    }
  }
}

// The facts that may affect the speed of a job: how TCP, the interfaces that the job used and the
// cores are set.
std::vector<record::Fact> tuning_facts(const NodeData& node,
                                       const std::vector<std::string>& interfaces) {
  std::vector<record::Fact> facts;
  for (const char* name : kSysctls) {
    take(node, "sysctl", "", name, facts);
  }
  take(node, "nic", "", "default_route", facts);
  for (const std::string& interface : interfaces) {
    for (const char* key : kInterfaceKeys) {
      take(node, "nic", interface, key, facts);
    }
  }
  for (const char* key : {"governor", "preference"}) {
    take_policies(node, key, facts);
  }
  for (const char* key : {"multithreading", "virtualised", "isolated"}) {
    take(node, "cpu", "", key, facts);
  }
  take(node, "memory", "", "transparent_huge_pages", facts);
  take(node, "time", "", "synchronised", facts);
  take(node, "library", "", "nccl", facts);
  take_environment(node, facts);
  return facts;
}

// From the first reading to the last. The counter never falls, also where an interface restarted
// with a new count: its reader adds the new count to the old.
void read_counter(const NodeData& node, std::string_view name, const std::string& subject,
                  std::optional<double>& bytes, std::optional<double>& peak_mbps) {
  const SeriesData* series = node.find(name, subject);
  if (series == nullptr || series->readings.empty()) {
    return;
  }
  bytes = series->readings.back().value - series->readings.front().value;
  for (const Reading& reading : series->readings) {
    if (reading.peak > 0) {
      peak_mbps = std::max(peak_mbps.value_or(0), reading.peak * 8 / 1e6);
    }
  }
}

InterfaceTraffic traffic_of(const NodeData& node, const std::string& interface,
                            std::string_view sent, std::string_view received) {
  InterfaceTraffic traffic;
  read_counter(node, sent, interface, traffic.sent_bytes, traffic.sent_peak_mbps);
  read_counter(node, received, interface, traffic.received_bytes, traffic.received_peak_mbps);
  return traffic;
}

bool has_job(const RunData& run, const NodeData& node, const InterfacePicture& interface) {
  if (interface.job.sent_bytes.value_or(0) > 0 || interface.job.received_bytes.value_or(0) > 0) {
    return true;
  }
  return std::ranges::any_of(run.connections, [&](const Connection& connection) {
    return std::ranges::any_of(connection.ends, [&](const auto& end) {
      return end && &run.nodes[end->node] == &node &&
             node.flows[end->flow].row.interface == interface.name;
    });
  });
}

InterfacePicture picture_of(const RunData& run, const NodeData& node, const Interface& interface) {
  const std::string& name = interface.name;
  InterfacePicture picture{
      .name = name,
      .kind = interface.kind,
      .is_up = interface.is_up,
      .speed_mbps = card_of(node, name).speed_mbps,
      .mtu_bytes = count_of(node, "nic", name, "mtu"),
      .driver = fact_text(node, "nic", name, "driver"),
      .addresses = interface.addresses,
      .all = traffic_of(node, name, record::kNicSentBytes, record::kNicReceivedBytes),
      .job = traffic_of(node, name, record::kJobSentBytes, record::kJobReceivedBytes),
      .source = fmt::format("facts nic {0}, counters nic.* and job.* of {0}", name)};
  picture.is_used = has_job(run, node, picture);
  picture.pcie = pcie_of(node, fact_text(node, "nic", name, "pci_address"), name);
  return picture;
}

// Those of the facts, and those that only the series have.
std::vector<std::string> gpus_of(const NodeData& node) {
  std::vector<std::string> gpus = subjects_of(node, "gpu");
  for (const SeriesData* series : node.find(record::kGpuUtilization)) {
    if (std::ranges::find(gpus, series->row.subject) == gpus.end()) {
      gpus.push_back(series->row.subject);
    }
  }
  return gpus;
}

// The last result in the record, without checks that have no id.
std::optional<std::vector<DoctorCheck>> doctor_of(const NodeData& node) {
  for (const record::Probe& probe : node.probes | std::views::reverse) {
    if (probe.kind != "doctor") {
      continue;
    }
    const auto document = json::object_or_null(probe.document);
    if (!document.contains("checks") || !document.at("checks").is_array()) {
      continue;
    }
    const Bounds bounds{.longest = probe.document.size()};
    std::vector<DoctorCheck> checks;
    for (const json::Json& item : document.at("checks")) {
      DoctorCheck check;
      each_field<DoctorCheck>([&](const auto& field) {
        check.*field.member =
            json::field_in<std::string>(item, field.name, "check", bounds).value_or("");
      });
      if (!check.id.empty()) {
        checks.push_back(std::move(check));
      }
    }
    return checks;
  }
  return std::nullopt;
}

HostPicture picture_of(const RunData& run, const NodeData& node) {
  HostPicture picture{.name = node.name,
                      .host = node.host,
                      .kernel = fact_text(node, "kernel", "", "release"),
                      .distribution = fact_text(node, "kernel", "", "distribution"),
                      .cpu = fact_text(node, "cpu", "", "model"),
                      .cores = count_of(node, "cpu", "", "cores"),
                      .memory_bytes = count_of(node, "memory", "", "total_bytes"),
                      .doctor = doctor_of(node)};
  std::vector<std::string> used;
  for (const Interface& interface : node.interfaces) {
    picture.interfaces.push_back(picture_of(run, node, interface));
    if (picture.interfaces.back().is_used) {
      used.push_back(interface.name);
    }
  }
  for (const std::string& bus_id : gpus_of(node)) {
    picture.gpus.push_back({.name = fact_text(node, "gpu", bus_id, "name"),
                            .bus_id = bus_id,
                            .pcie = pcie_of(node, bus_id, bus_id)});
  }
  picture.facts = tuning_facts(node, used);
  return picture;
}

}  // namespace

std::optional<double> InterfacePicture::peak_mbps() const {
  const auto& [sent, received] = std::pair(all.sent_peak_mbps, all.received_peak_mbps);
  return sent && received ? std::max(sent, received) : sent ? sent : received;
}

std::vector<HostPicture> host_pictures(const RunData& run) {
  std::vector<HostPicture> pictures;
  for (const NodeData& node : run.nodes) {
    pictures.push_back(picture_of(run, node));
  }
  return pictures;
}

}  // namespace chokepoint::analysis
