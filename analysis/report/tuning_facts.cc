#include "analysis/report/tuning_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "analysis/report/node_facts.h"

namespace chokepoint::analysis {
namespace {

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

constexpr std::array kOfInterface{"mtu",
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

// A host has a policy a core: they are told apart only where they differ.
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

}  // namespace

std::vector<record::Fact> tuning_facts(const NodeData& node,
                                       const std::vector<std::string>& interfaces) {
  std::vector<record::Fact> facts;
  for (const char* name : kSysctls) {
    take(node, "sysctl", "", name, facts);
  }
  take(node, "nic", "", "default_route", facts);
  for (const std::string& interface : interfaces) {
    for (const char* key : kOfInterface) {
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

}  // namespace chokepoint::analysis
