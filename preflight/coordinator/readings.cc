#include "preflight/coordinator/readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/sys/error.h"
#include "preflight/task/measured.h"
#include "preflight/task/task.h"

namespace chokepoint::preflight::coordinator {
namespace {

// Upper bounds of real figures; larger ones come from an agent that invents them.
constexpr double kMaxBytes = 1e16;
constexpr double kMaxPackets = 1e12;
constexpr double kMaxUs = 3.6e9;
// A core may be counted a little over 100 % where its clock ticks are coarse.
constexpr double kMaxPercent = 10'000;
constexpr double kMaxTestPackets = 1e9;
constexpr double kMaxClockMs = 1e13;  // some three hundred years
constexpr double kMaxRanks = 1e6;
constexpr double kMaxSizeBytes = 1LL << 50;

// The parts that may be null are optional.
struct Times {
  Figure median = {};
  Figure p99 = {};
  Figure min = {};
};

struct LatencyDocument {
  std::optional<Times> idle_ms = {};
};

struct TcpWaits {
  Figure receive_window = {};
  Figure send_buffer = {};
};

struct TcpCores {
  Figure sender_percent = {};
  Figure receiver_percent = {};
};

struct TcpDirection {
  Figure throughput_mbps = {};
};

struct TcpDocument {
  Figure throughput_mbps = {};
  std::optional<double> retransmits = {};
  std::optional<double> sent_bytes = {};
  std::optional<double> segment_bytes = {};
  Figure largest_window_bytes = {};
  std::optional<TcpWaits> limited_by = {};
  std::optional<TcpCores> cpu = {};
  std::optional<std::string> limit = {};
  std::optional<TcpDirection> send = {};
  std::optional<TcpDirection> receive = {};
};

struct UdpDirection {
  std::optional<std::uint32_t> sent = {};
  std::optional<std::uint32_t> lost = {};
  std::optional<std::uint32_t> lost_in_receiver = {};
  std::optional<std::uint32_t> dropped_by_sender = {};
};

struct UdpDocument {
  UdpDirection send = {};
  UdpDirection receive = {};
  std::optional<double> clock_offset_ms = {};
  Figure clock_uncertainty_ms = {};
};

struct RdmaDocument {
  Figure average_mbps = {};
  std::optional<Times> latency_us = {};
};

struct CollectiveSize {
  std::int64_t bytes = 0;
  std::optional<double> bus_mbps = {};
  std::optional<Times> time_us = {};
};

struct CollectiveDocument {
  std::string backend = {};
  int ranks = 0;
  std::vector<CollectiveSize> sizes = {};
  std::optional<std::string> failure = {};
};

struct DoctorDocument {
  checks::Checks checks = {};
};

struct NamesDocument {
  std::vector<NameLookup> answers = {};
};

}  // namespace
}  // namespace chokepoint::preflight::coordinator

namespace chokepoint {

namespace coordinator = preflight::coordinator;

template <>
struct Fields<coordinator::Times> {
  using T = coordinator::Times;
  static constexpr std::tuple kList{field("median", &T::median, "the median"),
                                    field("p99", &T::p99, "of a hundred the slowest but one"),
                                    field("min", &T::min, "the shortest")};
};

template <>
struct Fields<coordinator::LatencyDocument> {
  static constexpr std::tuple kList{field("idle_ms", &coordinator::LatencyDocument::idle_ms,
                                          "round trips with nothing else on, milliseconds")
                                        .between(0, coordinator::kMaxMs)};
};

template <>
struct Fields<coordinator::TcpWaits> {
  using T = coordinator::TcpWaits;
  static constexpr std::tuple kList{
      field("receive_window", &T::receive_window, "share of the time that it waited for the window")
          .between(0, 1),
      field("send_buffer", &T::send_buffer, "the same for the send buffer").between(0, 1)};
};

template <>
struct Fields<coordinator::TcpCores> {
  using T = coordinator::TcpCores;
  static constexpr std::tuple kList{
      field("sender_busiest_core_percent", &T::sender_percent, "of the sender's busiest core")
          .between(0, coordinator::kMaxPercent),
      field("receiver_busiest_core_percent", &T::receiver_percent, "of the receiver's busiest core")
          .between(0, coordinator::kMaxPercent)};
};

template <>
struct Fields<coordinator::TcpDirection> {
  static constexpr std::tuple kList{field("throughput_mbps",
                                          &coordinator::TcpDirection::throughput_mbps,
                                          "payload that arrived, Mb/s")
                                        .between(0, coordinator::kMaxMbps)};
};

template <>
struct Fields<coordinator::TcpDocument> {
  using T = coordinator::TcpDocument;
  static constexpr std::tuple kList{
      field("throughput_mbps", &T::throughput_mbps, "payload that arrived, Mb/s")
          .between(0, coordinator::kMaxMbps),
      field("retransmits", &T::retransmits, "segments").between(0, coordinator::kMaxPackets),
      field("sent_bytes", &T::sent_bytes, "payload").between(0, coordinator::kMaxBytes),
      field("mss_bytes", &T::segment_bytes, "of a segment")
          .between(0, coordinator::kMaxPacketBytes),
      // The congestion window grows no further than it is used.
      field("max_cwnd_bytes", &T::largest_window_bytes, "the largest congestion window")
          .between(0, coordinator::kMaxBytes),
      field("limited_by", &T::limited_by, "what the flow waited for"),
      field("cpu", &T::cpu, "how busy the processors were"),
      field("limit", &T::limit, "what limited the flow").up_to_bytes(coordinator::kMaxWordBytes),
      field("send", &T::send, "of a test in both directions"),
      field("receive", &T::receive, "of a test in both directions")};
};

template <>
struct Fields<coordinator::UdpDirection> {
  using U = coordinator::UdpDirection;
  static constexpr std::tuple kList{
      field("packets_sent", &U::sent, "packets").at_most(coordinator::kMaxTestPackets),
      field("lost", &U::lost, "of these, wherever").at_most(coordinator::kMaxTestPackets),
      field("lost_in_receiver_queue", &U::lost_in_receiver, "of these, by the receiving host")
          .at_most(coordinator::kMaxTestPackets),
      field("dropped_by_sender_queue", &U::dropped_by_sender, "of these, by the sending host")
          .at_most(coordinator::kMaxTestPackets)};
  static const char* wrong(const U& way) {
    return way.lost.value_or(0) > way.sent.value_or(0) ? "no more lost than sent" : nullptr;
  }
};

template <>
struct Fields<coordinator::UdpDocument> {
  using U = coordinator::UdpDocument;
  static constexpr std::tuple kList{
      field("send", &U::send, "from the host that was asked"),
      field("receive", &U::receive, "to the host that was asked"),
      field("clock_offset_ms", &U::clock_offset_ms, "the peer's monotonic clock less its own")
          .between(-coordinator::kMaxClockMs, coordinator::kMaxClockMs),
      field("clock_uncertainty_ms", &U::clock_uncertainty_ms, "of that offset")
          .between(0, coordinator::kMaxMs)};
};

template <>
struct Fields<coordinator::RdmaDocument> {
  using R = coordinator::RdmaDocument;
  static constexpr std::tuple kList{
      field("average_mbps", &R::average_mbps, "Mb/s").between(0, coordinator::kMaxMbps),
      field("latency_us", &R::latency_us, "microseconds").between(0, coordinator::kMaxUs)};
};

template <>
struct Fields<coordinator::CollectiveSize> {
  using C = coordinator::CollectiveSize;
  static constexpr std::tuple kList{
      field("bytes", &C::bytes, "of each rank").between(0, coordinator::kMaxSizeBytes),
      field("busbw_mbps", &C::bus_mbps, "bus bandwidth, Mb/s").between(0, coordinator::kMaxMbps),
      field("time_us", &C::time_us, "of an operation, microseconds")
          .between(0, coordinator::kMaxUs)};
};

template <>
struct Fields<coordinator::CollectiveDocument> {
  using C = coordinator::CollectiveDocument;
  static constexpr std::tuple kList{
      field("backend", &C::backend, "gloo").up_to_bytes(coordinator::kMaxWordBytes),
      field("ranks", &C::ranks, "hosts that took part").between(0, coordinator::kMaxRanks),
      field("sizes", &C::sizes, "the operations of each size, the largest last")
          .up_to_items(1000)
          .null_if_empty(),
      field("failure", &C::failure, "why it came to nothing")};
};

template <>
struct Fields<coordinator::DoctorDocument> {
  static constexpr std::tuple kList{
      field("checks", &coordinator::DoctorDocument::checks, "its checks").up_to_items(10'000)};
};

template <>
struct Fields<coordinator::NamesDocument> {
  static constexpr std::tuple kList{
      field("answers", &coordinator::NamesDocument::answers, "one for each name that was asked for")
          .up_to_items(preflight::kMaxHostsInTask)};
};

}  // namespace chokepoint

namespace chokepoint::preflight::coordinator {
namespace {

using control::Json;

// What either host dropped is not the network's fault.
void set_loss(const UdpDirection& direction, PathResult& way) {
  const std::uint32_t lost = direction.lost.value_or(0);
  const std::uint64_t in_hosts = std::uint64_t{direction.lost_in_receiver.value_or(0)} +
                                 direction.dropped_by_sender.value_or(0);
  way.packets = direction.sent.value_or(0);
  way.lost = lost > in_hosts ? lost - static_cast<std::uint32_t>(in_hosts) : 0;
}

constexpr std::string_view kTcpSchema = "chokepoint.probe.tcp/1";
constexpr std::string_view kUdpSchema = "chokepoint.probe.udp/1";
constexpr std::string_view kRdmaSchema = "chokepoint.rdma/1";

// The verdicts of probe tcp; those that mean the network are told apart by the figures.
constexpr std::array<std::pair<std::string_view, TcpLimit>, 9> kLimits{
    {{"sender-cpu", TcpLimit::SenderCpu},
     {"receiver-cpu", TcpLimit::ReceiverCpu},
     {"application", TcpLimit::Application},
     {"send-buffer", TcpLimit::SendBuffer},
     {"receive-window", TcpLimit::ReceiveWindow},
     {"loss", TcpLimit::Network},
     {"queue", TcpLimit::Network},
     {"path", TcpLimit::Network},
     {"slow-start", TcpLimit::Network}}};

TcpLimit limit_named(std::string_view name) {
  const auto* at = std::ranges::find(kLimits, name, &std::pair<std::string_view, TcpLimit>::first);
  return at == kLimits.end() ? TcpLimit::Unknown : at->second;
}

// Of segments of full size: the document does not count all that were sent.
Figure retransmitted_percent(const TcpDocument& tcp) {
  if (!tcp.retransmits || tcp.sent_bytes.value_or(0) <= 0 || tcp.segment_bytes.value_or(0) <= 0) {
    return std::nullopt;
  }
  constexpr double kAll = 100;
  return static_cast<float>(
      std::min(kAll, *tcp.retransmits * *tcp.segment_bytes / *tcp.sent_bytes * kAll));
}

Result<TcpDocument> read_one_direction(const Json& document) {
  TRY(TcpDocument tcp, read<TcpDocument>(document, kTcpSchema));
  return tcp.throughput_mbps ? Result<TcpDocument>(std::move(tcp))
                             : fail(malformed(kTcpSchema, "'throughput_mbps'"));
}

}  // namespace

Result<> read_loss(const Json& document, PairResult& pair) {
  TRY(const UdpDocument udp, read<UdpDocument>(document, kUdpSchema));
  set_loss(udp.send, pair.there);
  set_loss(udp.receive, pair.back);
  pair.clock_uncertainty_ms = udp.clock_uncertainty_ms;
  return {};
}

std::optional<double> monotonic_offset_ms(const Json& document) {
  const Result<UdpDocument> udp = read<UdpDocument>(document, kUdpSchema);
  return udp ? udp->clock_offset_ms : std::nullopt;
}

Result<> read_latency(const Json& document, PairResult& pair) {
  TRY(const LatencyDocument latency, read<LatencyDocument>(document, "chokepoint.probe.latency/1"));
  const Times idle = or_empty(latency.idle_ms);
  pair.rtt_ms = idle.median;
  pair.rtt_p99_ms = idle.p99;
  pair.rtt_min_ms = idle.min;
  return {};
}

Result<> read_rdma_bandwidth(const Json& document, PathResult& way) {
  TRY(const RdmaDocument rdma, read<RdmaDocument>(document, kRdmaSchema));
  way.rdma_mbps = rdma.average_mbps;
  return {};
}

Result<> read_rdma_latency(const Json& document, PairResult& pair) {
  TRY(const RdmaDocument rdma, read<RdmaDocument>(document, kRdmaSchema));
  pair.rdma_latency_us = or_empty(rdma.latency_us).median;
  return {};
}

Result<> read_collective(const Json& document, CollectiveResult& result) {
  TRY(const CollectiveDocument collective,
      read<CollectiveDocument>(document, "chokepoint.collective/1"));
  if (collective.failure || collective.sizes.empty()) {
    return fail(ErrorKind::Io, "", "collective",
                collective.failure.value_or("nothing was measured"));
  }
  const CollectiveSize& largest = collective.sizes.back();
  result.backend = collective.backend;
  result.ranks = collective.ranks;
  result.bytes = largest.bytes;
  result.bus_mbps = largest.bus_mbps;
  result.time_us = or_empty(largest.time_us).median;
  return {};
}

Result<> read_doctor(const Json& document, HostResult& host) {
  TRY(DoctorDocument doctor, read<DoctorDocument>(document, "chokepoint.doctor/1"));
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

Result<> read_tcp(const Json& document, PathResult& way) {
  TRY(const TcpDocument tcp, read_one_direction(document));
  const TcpWaits waits = or_empty(tcp.limited_by);
  const TcpCores cores = or_empty(tcp.cpu);
  way.tcp_mbps = tcp.throughput_mbps;
  way.retransmitted_percent = retransmitted_percent(tcp);
  way.window_share = waits.receive_window;
  way.send_buffer_share = waits.send_buffer;
  way.largest_window_bytes = tcp.largest_window_bytes;
  way.sender_cpu_percent = cores.sender_percent;
  way.receiver_cpu_percent = cores.receiver_percent;
  way.limit = limit_named(or_empty(tcp.limit));
  return {};
}

Result<> read_alone(const Json& document, PathResult& way) {
  TRY(const TcpDocument tcp, read_one_direction(document));
  way.alone_mbps = tcp.throughput_mbps;
  return {};
}

Result<> read_together(const Json& document, PathResult& sent, PathResult& received) {
  TRY(const TcpDocument tcp, read<TcpDocument>(document, kTcpSchema));
  const Figure to = or_empty(tcp.send).throughput_mbps;
  const Figure from = or_empty(tcp.receive).throughput_mbps;
  if (!to || !from) {
    return fail(malformed(kTcpSchema, "'throughput_mbps' of each direction"));
  }
  sent.together_mbps = to;
  received.together_mbps = from;
  return {};
}

}  // namespace chokepoint::preflight::coordinator
