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

#include "base/documents/probe_tcp.h"
#include "base/sys/error.h"
#include "preflight/task/measured.h"
#include "preflight/task/task.h"

namespace chokepoint::preflight::coordinator {
namespace {

// Upper bounds of real figures; larger ones come from an agent that invents them.
constexpr double kMaxUs = 3.6e9;
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

constexpr std::string_view kTcpSchema = Fields<documents::ProbeTcp>::kSchema;
constexpr std::string_view kUdpSchema = "chokepoint.probe.udp/1";
constexpr std::string_view kRdmaSchema = "chokepoint.rdma/1";

// Those that mean the network are told apart by the figures.
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

template <class Number>
Figure figure(const std::optional<Number>& number) {
  return number ? Figure(static_cast<float>(*number)) : std::nullopt;
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
  if (!tcp.ways.only) {
    return fail(malformed(kTcpSchema, "one direction"));
  }
  return *std::move(tcp.ways.only);
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
  TRY(const documents::TcpFigures tcp, read_one_direction(document));
  way.tcp_mbps = static_cast<float>(tcp.throughput_mbps);
  way.retransmitted_percent = retransmitted_percent(tcp);
  if (tcp.limited_by) {
    way.window_share = static_cast<float>(tcp.limited_by->receive_window);
    way.send_buffer_share = static_cast<float>(tcp.limited_by->send_buffer);
  }
  // The congestion window grows no further than it is used.
  way.largest_window_bytes = figure(tcp.max_cwnd_bytes);
  way.sender_cpu_percent = figure(tcp.cpu.sender_busiest_core_percent);
  way.receiver_cpu_percent = figure(tcp.cpu.receiver_busiest_core_percent);
  way.limit = limit_of(tcp.limit);
  return {};
}

Result<> read_alone(const Json& document, PathResult& way) {
  TRY(const documents::TcpFigures tcp, read_one_direction(document));
  way.alone_mbps = static_cast<float>(tcp.throughput_mbps);
  return {};
}

Result<> read_together(const Json& document, PathResult& sent, PathResult& received) {
  TRY(const documents::ProbeTcp tcp, read<documents::ProbeTcp>(document));
  if (!tcp.ways.send || !tcp.ways.receive) {
    return fail(malformed(kTcpSchema, "both directions"));
  }
  sent.together_mbps = static_cast<float>(tcp.ways.send->throughput_mbps);
  received.together_mbps = static_cast<float>(tcp.ways.receive->throughput_mbps);
  return {};
}

}  // namespace chokepoint::preflight::coordinator
