#include "capture/counter/rdma_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/record/names.h"

namespace chokepoint::capture::counter {
namespace {

constexpr std::string_view kFolder = "/sys/class/infiniband";
constexpr std::int64_t kFindAgainNs = 10'000'000'000;

using Translation = std::pair<std::string_view, std::string_view>;

// mlx5, irdma, bnxt_re, efa and rxe in turn, as each has it.
constexpr std::array kTranslations{
    Translation{"port_xmit_data", "sent_bytes"},
    Translation{"port_rcv_data", "received_bytes"},
    Translation{"tx_bytes", "sent_bytes"},
    Translation{"rx_bytes", "received_bytes"},
    Translation{"port_xmit_packets", "sent_packets"},
    Translation{"port_rcv_packets", "received_packets"},
    Translation{"tx_pkts", "sent_packets"},
    Translation{"rx_pkts", "received_packets"},
    Translation{"sent_pkts", "sent_packets"},
    Translation{"rcvd_pkts", "received_packets"},
    Translation{"np_cnp_sent", "cnp_sent"},
    Translation{"cnpSent", "cnp_sent"},
    Translation{"tx_cnp_pkts", "cnp_sent"},
    Translation{"rp_cnp_handled", "cnp_handled"},
    Translation{"cnpHandled", "cnp_handled"},
    Translation{"rx_cnp_pkts", "cnp_handled"},
    Translation{"np_ecn_marked_roce_packets", "ecn_marked"},
    Translation{"RxECNMrkd", "ecn_marked"},
    Translation{"rx_ecn_marked_pkts", "ecn_marked"},
    Translation{"out_of_seq_request", "out_of_sequence"},
    Translation{"oos_drop_count", "out_of_sequence"},
    Translation{"rcvd_seq_err", "packet_seq_err"},
    Translation{"seq_err_naks_rcvd", "packet_seq_err"},
    Translation{"tcp_retrans_segs", "retransmissions"},
    Translation{"RetransSegs", "retransmissions"},
    Translation{"to_retransmits", "retransmissions"},
    Translation{"retrans_pkts", "retransmissions"},
    Translation{"completer_retry_err", "retransmissions"},
    Translation{"roce_adp_retrans", "adaptive_retransmissions"},
    Translation{"rnr_nak_retry_err", "rnr_retries"},
    Translation{"rnr_naks_rcvd", "rnr_retries"},
    Translation{"send_rnr_err", "rnr_retries"},
    Translation{"local_ack_timeout_err", "ack_timeouts"},
    Translation{"port_xmit_wait", "send_wait_ticks"},
};

// InfiniBand counts data in words of four bytes.
std::uint64_t unit_of(std::string_view file) {
  return file == "port_xmit_data" || file == "port_rcv_data" ? 4 : 1;
}

std::string unit_name(std::string_view common) {
  return common.ends_with("_bytes") ? "bytes" : common.ends_with("_packets") ? "packets" : "count";
}

}  // namespace

std::string_view common_rdma_name(std::string_view file) {
  const auto* found = std::ranges::find(kTranslations, file, &Translation::first);
  return found == kTranslations.end() ? file : found->second;
}

void RdmaSampler::find_in(const std::string& folder, const std::string& subject, Sink& sink) {
  for (const std::string& file : root_.list(folder)) {
    const std::string common(common_rdma_name(file));
    const std::string path = fmt::format("{}/{}", folder, file);
    // Queue pairs' counters are 32 bits wide on some cards, whatever the file shows.
    Counter& counter = sink.counter(
        {fmt::format("{}{}", record::kRdmaPrefix, common), subject, unit_name(common), path},
        Keep::OnceChanged, Wrap::At32Bits);
    const bool is_taken =
        std::ranges::any_of(sources_, [&](const auto& one) { return one.counter == &counter; });
    if (!is_taken && file != "lifespan") {
      sources_.push_back({path, &counter, unit_of(file)});
    }
  }
}

void RdmaSampler::find(Sink& sink) {
  sources_.clear();
  for (const std::string& device : root_.list(kFolder)) {
    const std::string ports = fmt::format("{}/{}/ports", kFolder, device);
    for (const std::string& port : root_.list(ports)) {
      const std::string subject = fmt::format("{}/{}", device, port);
      find_in(fmt::format("{}/{}/counters", ports, port), subject, sink);
      find_in(fmt::format("{}/{}/hw_counters", ports, port), subject, sink);
    }
    // Some drivers count for the device, not for its ports.
    find_in(fmt::format("{}/{}/hw_counters", kFolder, device), device, sink);
  }
}

void RdmaSampler::sample(const Moment& moment, Sink& sink) {
  if (found_ns_ == INT64_MIN || moment.now_ns - found_ns_ >= kFindAgainNs) {
    find(sink);
    found_ns_ = moment.now_ns;
  }
  for (const Source& source : sources_) {
    const std::optional<std::int64_t> value = root_.number(source.path);
    if (value && *value >= 0) {
      source.counter->see(moment.now_ns, static_cast<std::uint64_t>(*value) * source.unit_bytes);
    }
  }
}

}  // namespace chokepoint::capture::counter
