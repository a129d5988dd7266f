#include "base/host/nic_statistics.h"

#include <algorithm>
#include <array>
#include <utility>

namespace chokepoint::host {
namespace {

constexpr std::array<std::string_view, 27> kDiagnosticWords{
    "pause",         "pfc",        "xoff",
    "xon",           "discard",    "drop",
    "out_of_buffer", "no_buf",     "nobuf",
    "no_dma",        "missed",     "fifo",
    "crc",           "fcs",        "err",
    "symbol",        "overrun",    "timeout",
    "stall",         "overflow",   "ecn",
    "cnp",           "exceeded",   "link_down",
    "rdma",          "alloc_fail", "tx_queue_stopped"};

// Statistics with these words count offloads and the work of XDP and TLS queues, not the network.
constexpr std::array<std::string_view, 3> kIrrelevantWords{"xdp", "tls", "csum"};

struct Rule {
  std::string_view pattern;  // '#' stands for digits
  CommonStatistic common;
};

// mlx5 · ice · i40e · ixgbe, igb, e1000e · bnxt_en · ena · virtio_net, gve · r8169 and others
constexpr std::array kRules{
    Rule{"rx_pause_ctrl_phy", {"received_pauses", 0}},
    Rule{"rx_global_pause", {"received_pauses", 1}},
    Rule{"rx_prio#_pause", {"received_pauses", 1}},
    Rule{"link_xoff_rx.nic", {"received_pauses", 0}},
    Rule{"rx_priority_#_xoff.nic", {"received_pauses", 1}},
    Rule{"port.link_xoff_rx", {"received_pauses", 0}},
    Rule{"port.rx_priority_#_xoff", {"received_pauses", 1}},
    Rule{"rx_flow_control_xoff", {"received_pauses", 0}},
    Rule{"rx_pb_#_pxoff", {"received_pauses", 1}},
    Rule{"rx_pause_frames", {"received_pauses", 0}},
    Rule{"rx_pfc_frames", {"received_pauses", 1}},
    Rule{"rx_pfc_ena_frames_pri#", {"received_pauses", 2}},
    Rule{"tx_pause_ctrl_phy", {"sent_pauses", 0}},
    Rule{"tx_global_pause", {"sent_pauses", 1}},
    Rule{"tx_prio#_pause", {"sent_pauses", 1}},
    Rule{"link_xoff_tx.nic", {"sent_pauses", 0}},
    Rule{"tx_priority_#_xoff.nic", {"sent_pauses", 1}},
    Rule{"port.link_xoff_tx", {"sent_pauses", 0}},
    Rule{"port.tx_priority_#_xoff", {"sent_pauses", 1}},
    Rule{"tx_flow_control_xoff", {"sent_pauses", 0}},
    Rule{"tx_pb_#_pxoff", {"sent_pauses", 1}},
    Rule{"tx_pause_frames", {"sent_pauses", 0}},
    Rule{"tx_pfc_frames", {"sent_pauses", 1}},
    Rule{"tx_pfc_ena_frames_pri#", {"sent_pauses", 2}},
    Rule{"rx_global_pause_duration", {"received_pause_us", 0}},
    Rule{"rx_prio#_pause_duration", {"received_pause_us", 1}},
    Rule{"tx_global_pause_duration", {"sent_pause_us", 0}},
    Rule{"tx_prio#_pause_duration", {"sent_pause_us", 1}},
    Rule{"rx_out_of_buffer", {"receive_no_buffer", 0}},
    Rule{"rx_no_buffer_count", {"receive_no_buffer", 0}},
    Rule{"rx_no_dma_resources", {"receive_no_buffer", 1}},
    Rule{"rx_overruns", {"receive_no_buffer", 0}},
    Rule{"rx_drops", {"receive_no_buffer", 0}},
    Rule{"rx_queue_#_drops", {"receive_no_buffer", 1}},
    Rule{"rx#_drops", {"receive_no_buffer", 1}},
    Rule{"rx_missed", {"receive_no_buffer", 0}},
    Rule{"rx_discards_phy", {"receive_discards", 0}},
    Rule{"rx_dropped.nic", {"receive_discards", 0}},
    Rule{"port.rx_dropped", {"receive_discards", 0}},
    Rule{"port.rx_discards", {"receive_discards", 1}},
    Rule{"rx_missed_errors", {"receive_discards", 0}},
    Rule{"rx_total_discard_pkts", {"receive_discards", 0}},
    Rule{"rx_stat_discard", {"receive_discards", 1}},
    Rule{"rx_dropped", {"receive_discards", 1}},
    Rule{"tx_discards_phy", {"send_discards", 0}},
    Rule{"tx_total_discard_pkts", {"send_discards", 0}},
    Rule{"tx_stat_discard", {"send_discards", 1}},
    Rule{"rx_crc_errors_phy", {"crc_errors", 0}},
    Rule{"rx_crc_errors.nic", {"crc_errors", 0}},
    Rule{"port.rx_crc_errors", {"crc_errors", 0}},
    Rule{"rx_crc_errors", {"crc_errors", 0}},
    Rule{"rx_fcs_err_frames", {"crc_errors", 0}},
    Rule{"rx_symbol_err_phy", {"symbol_errors", 0}},
    Rule{"link_down_events_phy", {"link_downs", 0}},
    Rule{"outbound_pci_stalled_wr_events", {"pci_stalls", 0}},
    Rule{"outbound_pci_buffer_overflow", {"pci_overflows", 0}},
    Rule{"rx_ecn_mark", {"ecn_marked", 0}},
    Rule{"rx_vport_rdma_unicast_bytes", {"rdma_received_bytes", 0}},
    Rule{"tx_vport_rdma_unicast_bytes", {"rdma_sent_bytes", 0}},
    Rule{"bw_in_allowance_exceeded", {"receive_allowance_exceeded", 0}},
    Rule{"bw_out_allowance_exceeded", {"send_allowance_exceeded", 0}},
    Rule{"pps_allowance_exceeded", {"packet_allowance_exceeded", 0}},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool matches(std::string_view pattern, std::string_view name) {
  while (!pattern.empty() && !name.empty()) {
    if (pattern.front() == '#' ? !is_digit(name.front()) : pattern.front() != name.front()) {
      return false;
    }
    if (pattern.front() == '#') {
      name.remove_prefix(std::min(name.find_first_not_of("0123456789"), name.size()));
    } else {
      name.remove_prefix(1);
    }
    pattern.remove_prefix(1);
  }
  return pattern.empty() && name.empty();
}

bool has_any_of(std::string_view name, const auto& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return name.contains(word); });
}

}  // namespace

std::optional<CommonStatistic> common_statistic(std::string_view name) {
  const auto* rule =
      std::ranges::find_if(kRules, [&](const Rule& one) { return matches(one.pattern, name); });
  return rule == kRules.end() ? std::nullopt : std::optional(rule->common);
}

std::map<std::string, std::uint64_t> common_statistics(
    const std::vector<net::Statistic>& statistics) {
  std::map<std::pair<std::string_view, int>, std::uint64_t> sums;
  for (const net::Statistic& each : statistics) {
    const std::optional<CommonStatistic> common = common_statistic(each.name);
    if (common && each.value >= 0) {
      sums[{common->name, common->naming}] += static_cast<std::uint64_t>(each.value);
    }
  }
  std::map<std::string, std::uint64_t> largest;
  for (const auto& [naming, sum] : sums) {
    std::uint64_t& most = largest[std::string(naming.first)];
    most = std::max(most, sum);
  }
  return largest;
}

bool is_diagnostic_statistic(std::string_view name) {
  return common_statistic(name) ||
         (has_any_of(name, kDiagnosticWords) && !has_any_of(name, kIrrelevantWords));
}

}  // namespace chokepoint::host
