#include "base/host/rdma_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace chokepoint::host {
namespace {

struct Translation {
  std::string_view file;
  RdmaCounterName name;
};

// In each group: mlx5, mlx4, irdma (its third generation has spaces in names), bnxt_re, efa, ionic,
// hns and rxe, as far as each has it. rxe counts retransmissions by the times it began to send
// again, not by packets.
constexpr std::array kTranslations{
    Translation{"port_xmit_data", {.common = "sent_bytes", .unit = 4}},
    Translation{"ip4OutOctets", {.common = "sent_bytes", .is_part = true}},
    Translation{"ip6OutOctets", {.common = "sent_bytes", .is_part = true}},
    Translation{"tx_bytes", {"sent_bytes"}},
    Translation{"tx_rdma_ucast_bytes", {"sent_bytes"}},

    Translation{"port_rcv_data", {.common = "received_bytes", .unit = 4}},
    Translation{"ip4InOctets", {.common = "received_bytes", .is_part = true}},
    Translation{"ip6InOctets", {.common = "received_bytes", .is_part = true}},
    Translation{"rx_bytes", {"received_bytes"}},
    Translation{"rx_rdma_ucast_bytes", {"received_bytes"}},

    Translation{"port_xmit_packets", {"sent_packets"}},
    Translation{"ip4OutPkts", {.common = "sent_packets", .is_part = true}},
    Translation{"ip6OutPkts", {.common = "sent_packets", .is_part = true}},
    Translation{"tx_pkts", {"sent_packets"}},
    Translation{"tx_rdma_ucast_pkts", {"sent_packets"}},
    Translation{"tx_pkt", {"sent_packets"}},
    Translation{"sent_pkts", {"sent_packets"}},

    Translation{"port_rcv_packets", {"received_packets"}},
    Translation{"ip4InPkts", {.common = "received_packets", .is_part = true}},
    Translation{"ip6InPkts", {.common = "received_packets", .is_part = true}},
    Translation{"rx_pkts", {"received_packets"}},
    Translation{"rx_rdma_ucast_pkts", {"received_packets"}},
    Translation{"rx_pkt", {"received_packets"}},
    Translation{"rcvd_pkts", {"received_packets"}},

    Translation{"tcpRetransSegs", {"retransmissions"}},
    Translation{"RetransSegs", {"retransmissions"}},
    Translation{"retrans_pkts", {"retransmissions"}},
    Translation{"tx_rdma_retx_pkts", {"retransmissions"}},
    Translation{"completer_retry_err", {"retransmissions"}},
    Translation{"roce_adp_retrans", {"adaptive_retransmissions"}},

    Translation{"local_ack_timeout_err", {"ack_timeouts"}},
    Translation{"sq_num_to", {"ack_timeouts"}},
    Translation{"RTO", {"ack_timeouts"}},
    Translation{"to_retransmits", {"ack_timeouts"}},
    Translation{"retrans_timeout_events", {"ack_timeouts"}},
    Translation{"tx_rdma_ack_timeout", {"ack_timeouts"}},

    Translation{"sq_num_oos", {"packet_seq_err"}},
    Translation{"Nak Sequence Error", {"packet_seq_err"}},
    Translation{"seq_err_naks_rcvd", {"packet_seq_err"}},
    Translation{"req_rx_pkt_seq_err", {"packet_seq_err"}},
    Translation{"rcvd_seq_err", {"packet_seq_err"}},

    Translation{"Nak Sequence Error Implied", {"implied_nak_seq_err"}},
    Translation{"missing_resp", {"implied_nak_seq_err"}},
    Translation{"req_rx_impl_nak_seq_err", {"implied_nak_seq_err"}},

    Translation{"rq_num_oos", {"out_of_sequence"}},
    Translation{"Rcvd Out of order packets", {"out_of_sequence"}},
    Translation{"oos_drop_count", {"out_of_sequence"}},
    Translation{"res_oos_drop_count", {"out_of_sequence"}},
    Translation{"resp_rx_outouf_seq", {"out_of_sequence"}},
    Translation{"out_of_seq_request", {"out_of_sequence"}},

    Translation{"duplicate_request", {"duplicate_request"}},
    Translation{"rq_num_dup", {"duplicate_request"}},
    Translation{"dup_req", {"duplicate_request"}},
    Translation{"dup_reqs", {"duplicate_request"}},

    Translation{"rnr_nak_retry_err", {"rnr_retries"}},
    Translation{"sq_num_rnr", {"rnr_retries"}},
    Translation{"RNR received", {"rnr_retries"}},
    Translation{"rnr_naks_rcvd", {"rnr_retries"}},
    Translation{"rcvd_rnr_err", {"rnr_retries"}},

    Translation{"rq_num_rnr", {"rnr_sent"}},
    Translation{"RNR sent", {"rnr_sent"}},
    Translation{"send_rnr_err", {"rnr_sent"}},

    Translation{"rx_out_of_buffer", {"out_of_buffer"}},
    Translation{"res_oob_drop_count", {"out_of_buffer"}},
    Translation{"resp_rx_outof_buf", {"out_of_buffer"}},

    Translation{"req_transport_retries_exceeded", {"retries_exceeded"}},
    Translation{"sq_num_tree", {"retries_exceeded"}},
    Translation{"max_retry_exceeded", {"retries_exceeded"}},
    Translation{"req_tx_retry_excd_err", {"retries_exceeded"}},
    Translation{"retry_exceeded_err", {"retries_exceeded"}},

    Translation{"req_rnr_retries_exceeded", {"rnr_retries_exceeded"}},
    Translation{"sq_num_rree", {"rnr_retries_exceeded"}},
    Translation{"retry_rnr_exceeded_err", {"rnr_retries_exceeded"}},

    Translation{"np_cnp_sent", {"cnp_sent"}},
    Translation{"cnpSent", {"cnp_sent"}},
    Translation{"tx_cnp_pkts", {"cnp_sent"}},
    Translation{"tx_rdma_cnp_pkts", {"cnp_sent"}},
    Translation{"tx_cnp_pkt", {"cnp_sent"}},

    Translation{"rp_cnp_handled", {"cnp_handled"}},
    Translation{"cnpHandled", {"cnp_handled"}},
    Translation{"rx_cnp_pkts", {"cnp_handled"}},
    Translation{"rx_rdma_cnp_pkts", {"cnp_handled"}},
    Translation{"rx_cnp_pkt", {"cnp_handled"}},

    Translation{"np_ecn_marked_roce_packets", {"ecn_marked"}},
    Translation{"RxECNMrkd", {"ecn_marked"}},
    Translation{"rx_ecn_marked_pkts", {"ecn_marked"}},
    Translation{"rx_rdma_ecn_pkts", {"ecn_marked"}},

    Translation{"rx_icrc_encapsulated", {"icrc_errors"}},
    Translation{"CRC errors", {"icrc_errors"}},
    Translation{"port_xmit_wait", {"send_wait_ticks"}},
};

}  // namespace

RdmaCounterName rdma_counter_name(std::string_view file) {
  const auto* found = std::ranges::find(kTranslations, file, &Translation::file);
  return found == kTranslations.end() ? RdmaCounterName{file} : found->name;
}

namespace {

constexpr std::string_view kCounterFolder = "/sys/class/infiniband";
constexpr std::string_view kLifespan = "lifespan";  // how long readings are cached, no counter
constexpr std::uint64_t kWrap = std::uint64_t{1} << 32;

void find_in(const sys::Root& root, const std::string& folder, std::vector<RdmaCounter>& counters) {
  for (const std::string& file : root.list(folder)) {
    if (file == kLifespan) {
      continue;
    }
    const RdmaCounterName name = rdma_counter_name(file);
    const auto known = std::ranges::find(counters, name.common, &RdmaCounter::name);
    std::string path = fmt::format("{}/{}", folder, file);
    if (known == counters.end()) {
      counters.push_back({std::string(name.common), {std::move(path)}, name.unit});
    } else if (name.is_part && known->files.front().starts_with(folder)) {
      known->files.push_back(std::move(path));
    }
  }
}

}  // namespace

std::vector<RdmaCounter> find_rdma_counters(const sys::Root& root, const std::string& device,
                                            int port) {
  std::vector<RdmaCounter> counters;
  for (const std::string_view kind : {"counters", "hw_counters"}) {
    find_in(root, fmt::format("{}/{}/ports/{}/{}", kCounterFolder, device, port, kind), counters);
  }
  return counters;
}

std::vector<RdmaCounter> find_rdma_counters(const sys::Root& root, const std::string& device) {
  std::vector<RdmaCounter> counters;
  find_in(root, fmt::format("{}/{}/hw_counters", kCounterFolder, device), counters);
  return counters;
}

std::optional<std::uint64_t> read_raw(const sys::Root& root, const RdmaCounter& counter) {
  std::uint64_t sum = 0;
  for (const std::string& file : counter.files) {
    const std::optional<std::int64_t> value = root.number(file);
    if (!value || *value < 0) {
      return std::nullopt;
    }
    sum += static_cast<std::uint64_t>(*value);
  }
  return sum;
}

std::optional<std::uint64_t> growth_of(std::uint64_t before, std::uint64_t after) {
  if (after >= before) {
    return after - before;
  }
  const bool has_wrapped = before < kWrap && before - after > kWrap / 2;
  return has_wrapped ? std::optional(after + kWrap - before) : std::nullopt;
}

}  // namespace chokepoint::host
