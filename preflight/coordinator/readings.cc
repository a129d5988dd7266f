#include "preflight/coordinator/readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/documents/collective.h"
#include "base/documents/doctor.h"
#include "base/documents/probe_latency.h"
#include "base/documents/probe_tcp.h"
#include "base/documents/probe_udp.h"
#include "base/documents/rdma.h"
#include "base/sys/error.h"
#include "preflight/task/measured.h"
#include "preflight/task/task.h"

namespace chokepoint::preflight::coordinator {
namespace {

struct NamesDocument {
  std::vector<NameLookup> answers = {};
};

}  // namespace
}  // namespace chokepoint::preflight::coordinator

namespace chokepoint {

namespace coordinator = preflight::coordinator;

template <>
struct Fields<coordinator::NamesDocument> {
  static constexpr FieldList kList{
      field("answers", &coordinator::NamesDocument::answers, "one for each name that was asked for")
          .up_to_items(preflight::kMaxHostsInTask)};
};

}  // namespace chokepoint

namespace chokepoint::preflight::coordinator {
namespace {

using control::Json;

std::uint32_t narrowed(std::uint64_t count) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, UINT32_MAX));
}

// What either host dropped is not the network's fault.
void set_loss(const documents::UdpFigures& figures, PathResult& path) {
  const std::uint64_t in_hosts =
      figures.lost_in_receiver_queue.value_or(0) + figures.dropped_by_sender_queue.value_or(0);
  path.packets = narrowed(figures.packets_sent);
  path.lost = narrowed(figures.lost - std::min(figures.lost, in_hosts));
}

constexpr std::string_view kTcpSchema = Fields<documents::ProbeTcp>::kSchema;
constexpr std::string_view kUdpSchema = Fields<documents::ProbeUdp>::kSchema;

// Those that mean the network are distinguished by the figures.
TcpLimit limit_of(documents::TcpLimit limit) {
  using enum documents::TcpLimit;
  switch (limit) {
    case SenderCpu:
      return TcpLimit::SenderCpu;
    case ReceiverCpu:
      return TcpLimit::ReceiverCpu;
    case Application:
      return TcpLimit::Application;
    case SendBuffer:
      return TcpLimit::SendBuffer;
    case ReceiveWindow:
      return TcpLimit::ReceiveWindow;
    case Loss:
    case Queue:
    case Path:
    case SlowStart:
      return TcpLimit::Network;
    case Nothing:
    case Asked:
      break;
  }
  return TcpLimit::Unknown;
}

// Of segments of full size: the document does not count all that were sent.
Figure retransmitted_percent(const documents::TcpFigures& tcp) {
  if (!tcp.retransmits || tcp.sent_bytes == 0 || tcp.mss_bytes.value_or(0) <= 0) {
    return std::nullopt;
  }
  constexpr double kAll = 100;
  const double bytes = static_cast<double>(*tcp.retransmits) * static_cast<double>(*tcp.mss_bytes);
  return static_cast<float>(std::min(kAll, bytes / static_cast<double>(tcp.sent_bytes) * kAll));
}

Result<documents::TcpFigures> read_one_direction(const Json& document) {
  TRY(documents::ProbeTcp tcp, read<documents::ProbeTcp>(document));
  if (!tcp.by_direction.only) {
    return fail(malformed(kTcpSchema, "one direction"));
  }
  return *std::move(tcp.by_direction.only);
}

}  // namespace

Result<> read_loss(const Json& document, PairResult& pair) {
  TRY(const documents::ProbeUdp udp, read<documents::ProbeUdp>(document));
  if (!udp.by_direction.send || !udp.by_direction.receive) {
    return fail(malformed(kUdpSchema, "both directions"));
  }
  set_loss(*udp.by_direction.send, pair.there);
  set_loss(*udp.by_direction.receive, pair.back);
  pair.clock_uncertainty_ms = figure(udp.clock_uncertainty_ms);
  return {};
}

std::optional<double> monotonic_offset_ms(const Json& document) {
  const auto udp = documents::read<documents::ProbeUdp>(document);
  return udp ? udp->clock_offset_ms : std::nullopt;
}

Result<> read_latency(const Json& document, PairResult& pair) {
  TRY(const documents::ProbeLatency latency, read<documents::ProbeLatency>(document));
  if (const auto& idle = latency.idle_ms) {
    pair.rtt_ms = static_cast<float>(idle->median);
    pair.rtt_p99_ms = static_cast<float>(idle->p99);
    pair.rtt_min_ms = static_cast<float>(idle->min);
  }
  return {};
}

Result<> read_rdma_bandwidth(const Json& document, PathResult& path) {
  TRY(const documents::Rdma rdma, read<documents::Rdma>(document));
  path.rdma_mbps = figure(rdma.figures.average_mbps);
  return {};
}

Result<> read_rdma_latency(const Json& document, PairResult& pair) {
  TRY(const documents::Rdma rdma, read<documents::Rdma>(document));
  if (rdma.figures.latency_us) {
    pair.rdma_latency_us = static_cast<float>(rdma.figures.latency_us->median);
  }
  return {};
}

Result<> read_collective(const Json& document, CollectiveResult& result) {
  TRY(const documents::Collective collective, read<documents::Collective>(document));
  if (collective.failure || collective.sizes.empty()) {
    return fail(ErrorKind::Io, "", "collective",
                collective.failure.value_or("nothing was measured"));
  }
  const documents::CollectiveSize& largest = collective.sizes.back();
  result.backend = collective.backend;
  result.ranks = collective.ranks;
  result.bytes = static_cast<std::int64_t>(largest.bytes);
  result.bus_mbps = largest.busbw_mbps;
  if (largest.time_us) {
    result.time_us = largest.time_us->median;
  }
  return {};
}

Result<> read_doctor(const Json& document, HostResult& host) {
  TRY(documents::Doctor doctor, read<documents::Doctor>(document));
  host.doctor = std::move(doctor.checks);
  return {};
}

Result<> read_names(const Json& document, const std::vector<HostIndex>& asked, HostResult& host) {
  TRY(NamesDocument names, read<NamesDocument>(document, kNamesSchema));
  if (names.answers.size() != asked.size()) {
    return fail(malformed(kNamesSchema, "an answer for each host that was asked for"));
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    host.names.push_back({.asked = asked[i],
                          .addresses = std::move(names.answers[i].addresses),
                          .error = std::move(names.answers[i].error).transform(control::of_peer)});
  }
  return {};
}

Result<> read_tcp(const Json& document, PathResult& path) {
  TRY(const documents::TcpFigures tcp, read_one_direction(document));
  path.tcp_mbps = static_cast<float>(tcp.throughput_mbps);
  path.retransmitted_percent = retransmitted_percent(tcp);
  if (tcp.limited_by) {
    path.window_share = static_cast<float>(tcp.limited_by->receive_window);
    path.send_buffer_share = static_cast<float>(tcp.limited_by->send_buffer);
  }
  // The congestion window grows no further than it is used.
  path.largest_window_bytes = figure(tcp.max_cwnd_bytes);
  path.sender_cpu_percent = figure(tcp.cpu.sender_busiest_core_percent);
  path.receiver_cpu_percent = figure(tcp.cpu.receiver_busiest_core_percent);
  path.limit = limit_of(tcp.limit);
  return {};
}

Result<> read_alone(const Json& document, PathResult& path) {
  TRY(const documents::TcpFigures tcp, read_one_direction(document));
  path.alone_mbps = static_cast<float>(tcp.throughput_mbps);
  return {};
}

Result<> read_together(const Json& document, PathResult& sent, PathResult& received) {
  TRY(const documents::ProbeTcp tcp, read<documents::ProbeTcp>(document));
  if (!tcp.by_direction.send || !tcp.by_direction.receive) {
    return fail(malformed(kTcpSchema, "both directions"));
  }
  sent.together_mbps = static_cast<float>(tcp.by_direction.send->throughput_mbps);
  received.together_mbps = static_cast<float>(tcp.by_direction.receive->throughput_mbps);
  return {};
}

}  // namespace chokepoint::preflight::coordinator
