// The chokepoint.capture/1 document: the Findings of a capture by their Fields. There may be
// millions of flows, so each is made, written and discarded (capture_document.cc). Times are
// seconds since the capture's first packet. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/documents/values.h"
#include "base/math/units.h"
#include "capture/commands/findings.h"
#include "capture/flow/facts.h"
#include "capture/flow/series.h"
#include "capture/observer/ends.h"
#include "capture/observer/gloo.h"
#include "capture/packet/address_text.h"

namespace chokepoint::capture {

constexpr double seconds_of(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / math::kNsPerSecond;
}

// What only TCP has.
struct CapturedTcp : flow::DirectionFacts {};

struct CapturedDirection : flow::DirectionFacts {
  std::optional<CapturedTcp> tcp = {};
  std::optional<std::vector<flow::Bin>> series = {};

  bool has_length() const { return last_ns > first_ns; }
};

struct CapturedEnd {
  std::string address = {};
  std::uint16_t port = 0;
};

struct CapturedFlow {
  packet::Kind protocol = packet::Kind::Tcp;
  CapturedEnd a = {};
  CapturedEnd b = {};
  std::optional<std::uint32_t> tunnel = {};
  std::string interface = {};
  double start_s = 0;
  double end_s = 0;
  std::optional<bool> handshake_seen = {};
  std::optional<bool> closed = {};
  std::optional<math::Distribution> path_rtt_ms = {};
  CapturedDirection a_to_b = {};
  CapturedDirection b_to_a = {};
};

struct CapturedDrops {
  std::uint64_t kernel = 0;
  std::uint64_t interface = 0;
};

struct CapturedDrop {
  double time_s = 0;
  std::string interface_name = {};
  CapturedDrops packets = {};
};

struct CapturedCollective {
  gloo::Kind kind = gloo::Kind::Unknown;
  std::uint64_t count = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::optional<math::Distribution> duration_ms = {};
};

struct CapturedGloo {
  std::uint64_t connections = 0;
  std::uint64_t messages = 0;
  std::vector<CapturedCollective> collectives = {};
};

// Times count from `first_ns`, the capture's first packet. What only TCP has is null for other
// protocols.
CapturedFlow captured_flow(const flow::FlowFacts& facts, const std::string& interface,
                           std::int64_t first_ns);
CapturedGloo captured_gloo(const Findings& findings);
std::vector<CapturedDrop> captured_drops(const Findings& findings);
// Their times are shifted to the capture's first packet.
std::vector<roce::QueuePairFacts> captured_queue_pairs(const Findings& findings);

// Of a time that was shifted.
template <class S>
constexpr auto seconds_field(const char* name, std::int64_t S::* member, const char* text) {
  return computed<S>(name, [member](const S& row) { return seconds_of(row.*member); }, text);
}

// Null if the member has this value.
template <class S, class M>
constexpr auto null_if(M unknown, const char* name, M S::* member, const char* text) {
  return computed<S>(
      name,
      [member, unknown](const S& row) {
        return row.*member == unknown ? std::nullopt : std::optional(row.*member);
      },
      text);
}

}  // namespace chokepoint::capture

namespace chokepoint {

template <>
struct Fields<capture::observer::Count> {
  using C = capture::observer::Count;
  static constexpr FieldList kList{field("packets", &C::packets, "number of packets"),
                                   field("bytes", &C::bytes, "bytes of their frames")};
};

template <>
struct Fields<capture::observer::Others> {
  using O = capture::observer::Others;
  static constexpr FieldList kList{
      field("other_ip", &O::other_ip,
            "another protocol, a fragment whose first was not seen, or TCP cut before its window"),
      field("not_ip", &O::not_ip, "ARP and the like"),
      field("malformed", &O::malformed,
            "headers that contradict each other, or a packet cut before its ports")};
};

template <>
struct Fields<capture::flow::Remainder> {
  using R = capture::flow::Remainder;
  static constexpr FieldList kList{
      field("flows", &R::flows, "idle flows that were removed to limit memory"),
      field("packets", &R::packets, "number of their packets"),
      field("bytes", &R::bytes, "bytes on the wire"),
      field("payload_bytes", &R::payload_bytes, "payload of all packets"),
      field("retransmitted_packets", &R::retransmitted_packets,
            "retransmitted packets of TCP and RoCE"),
      field("retransmitted_bytes", &R::retransmitted_bytes, "payload bytes retransmitted")};
};

template <>
struct Fields<capture::flow::Bin> {
  using B = capture::flow::Bin;
  static constexpr double kUsPerMs = 1e3;
  static std::optional<double> min_rtt_ms(const B& bin) {
    return bin.min_rtt_us == capture::flow::kNoSample ? std::nullopt
                                                      : std::optional(bin.min_rtt_us / kUsPerMs);
  }
  static std::optional<double> mean_rtt_ms(const B& bin) {
    return bin.rtt_samples == 0
               ? std::nullopt
               : std::optional(static_cast<double>(bin.rtt_sum_us) / kUsPerMs / bin.rtt_samples);
  }
  static constexpr FieldList kList{
      capture::seconds_field("start_s", &B::start_ns, "start, since the capture's first packet"),
      capture::seconds_field("width_s", &B::width_ns, "length of the bin").at_least(0),
      field("packets", &B::packets, "segments as the wire carried them"),
      field("bytes", &B::bytes, "bytes on the wire"),
      field("payload_bytes", &B::payload_bytes, "payload of all packets"),
      field("retransmitted_packets", &B::retransmitted_packets,
            "packets of `packets` that were retransmitted"),
      field("out_of_order", &B::out_of_order, "packets that were overtaken"),
      field("duplicate_acks", &B::duplicate_acks, "acknowledgements that reported a gap"),
      field("zero_windows", &B::zero_windows, "times this side closed its window"),
      field("window_full", &B::window_full, "times this side had filled the peer's window"),
      field("congestion_marks", &B::congestion_marks, "packets with ECN's CE"),
      field("max_in_flight_bytes", &B::max_in_flight_bytes, "most bytes sent and not acknowledged"),
      capture::null_if(capture::flow::kNoSample, "min_window_bytes", &B::min_window_bytes,
                       "the smallest that this side offered"),
      computed<B>("min_rtt_ms", min_rtt_ms, "shortest round trip").at_least(0),
      computed<B>("mean_rtt_ms", mean_rtt_ms, "mean round trip").at_least(0)};
};

template <>
struct Fields<capture::roce::QueuePairFacts> {
  using Q = capture::roce::QueuePairFacts;
  static constexpr FieldList kList{
      computed<Q>(
          "source",
          [](const Q& row) { return capture::packet::text_of(row.ends.source, row.ends.is_ipv6); },
          "the sending host"),
      computed<Q>(
          "destination",
          [](const Q& row) {
            return capture::packet::text_of(row.ends.destination, row.ends.is_ipv6);
          },
          "the receiving host"),
      field("queue_pair", &Q::queue_pair, "queue pair of the destination"),
      capture::seconds_field("start_s", &Q::first_ns,
                             "first packet, since the capture's first one"),
      capture::seconds_field("end_s", &Q::last_ns, "last packet"),
      field("packets", &Q::packets, "number of packets"),
      field("bytes", &Q::bytes, "bytes on the wire"),
      field("payload_bytes", &Q::payload_bytes, "payload of the messages"),
      field("messages", &Q::messages, "messages that ended"),
      field("read_requests", &Q::read_requests, "RDMA READ"),
      field("atomics", &Q::atomics, "atomic operations"),
      field("acknowledgements", &Q::acknowledgements, "acknowledgement packets"),
      field("missing_packets", &Q::missing_packets,
            "packets missing from gaps in the sequence that were not filled later"),
      field("retransmitted_packets", &Q::retransmitted_packets,
            "packets of `packets` that were retransmitted"),
      field("retransmitted_bytes", &Q::retransmitted_bytes, "retransmitted bytes on the wire"),
      field("sequence_naks", &Q::sequence_naks,
            "negative acknowledgements for a packet that did not arrive"),
      field("other_naks", &Q::other_naks, "negative acknowledgements for other reasons"),
      field("receiver_not_ready", &Q::receiver_not_ready,
            "negative acknowledgements because no receive buffer was posted"),
      field("congestion_notifications", &Q::congestion_notifications,
            "congestion notification packets (CNP)"),
      field("congestion_marks", &Q::congestion_marks, "packets with ECN's CE")};
};

template <>
struct Fields<capture::source::Interface> {
  using I = capture::source::Interface;
  static constexpr FieldList kList{
      field("name", &I::name,
            "name of the interface; for a pcap file the file's own name; empty if a pcapng file "
            "has none"),
      computed<I>(
          "link_type", [](const I& row) { return static_cast<int>(row.link_type); },
          "type of link, as pcap numbers it")
          .at_least(0),
      capture::null_if(0U, "snapshot_bytes", &I::snapshot_bytes,
                       "captured of each packet, at most"),
      capture::null_if(0U, "mtu_bytes", &I::mtu, "of the interface")};
};

template <>
struct Fields<capture::flow::Retransmissions> {
  using R = capture::flow::Retransmissions;
  static constexpr FieldList kList{
      field("fast", &R::fast, "retransmissions after the receiver reported a gap"),
      field("timeout", &R::timeout,
            "retransmissions after the timer expired without an acknowledgement"),
      field("spurious", &R::spurious,
            "retransmissions of data that had already arrived; counted in addition to the cause"),
      field("probe", &R::probe, "the last segment again, to get an answer"),
      field("unknown", &R::unknown,
            "retransmissions of unknown cause, because the receiver's reports were not seen")};
};

template <>
struct Fields<capture::CapturedTcp> {
  using T = capture::CapturedTcp;
  static constexpr FieldList kList{
      field("retransmitted_packets", &T::retransmitted_packets,
            "TCP only, as are all fields up to `dsack_acks`"),
      field("retransmitted_bytes", &T::retransmitted_bytes, "payload retransmitted"),
      field("retransmissions", &T::retransmissions, "retransmitted packets, by cause"),
      field("out_of_order", &T::out_of_order, "packets that were overtaken"),
      field("duplicate_acks", &T::duplicate_acks, "acknowledgements that reported a gap"),
      field("zero_windows", &T::zero_windows, "times this side closed its window"),
      field("window_full", &T::window_full, "times this side had filled the peer's window"),
      field("rtt_ms", &T::rtt_ms, "from this side's data to the peer's acknowledgement, at the tap")
          .at_least(0),
      field("max_in_flight_bytes", &T::max_in_flight_bytes, "most bytes sent and not acknowledged"),
      field("max_window_bytes", &T::max_window_bytes,
            "largest window of this side; null: its scale is not known"),
      field("window_scale", &T::window_scale,
            "window scale of the handshake; null: it was not seen")
          .at_most(14),
      field("cwnd_bytes", &T::cwnd_bytes, "estimate of the congestion window"),
      field("mss_bytes", &T::mss_bytes, "largest payload of a segment"),
      field("timestamp_rtt_ms", &T::timestamp_rtt_ms, "round trip by the timestamp option")
          .at_least(0),
      field("busy_s", &T::busy_s, "seconds with data outstanding").at_least(0),
      computed<T>(
          "busy_throughput_mbps",
          [](const T& facts) {
            return facts.busy_s > 0 ? std::optional(facts.busy_throughput_mbps) : std::nullopt;
          },
          "payload rate during the busy time, 10^6 bit/s")
          .at_least(0),
      field("busy_periods", &T::busy_periods, "number of periods with data outstanding"),
      field("window_limited_s", &T::window_limited_s,
            "part of busy_s in which the peer's window was full")
          .at_least(0),
      field("zero_window_s", &T::zero_window_s,
            "part of busy_s in which the peer's window was closed")
          .at_least(0),
      field("unique_bytes", &T::unique_bytes, "bytes of the stream, each byte once"),
      field("duplicates", &T::duplicates, "copies of a packet, made by the network or the capture"),
      field("lost_before_tap", &T::lost_before_tap,
            "retransmitted packets whose first sending was not seen here"),
      field("missing_bytes", &T::missing_bytes, "bytes that were acknowledged but not seen here"),
      field("keep_alives", &T::keep_alives,
            "segments that only check whether the other end answers"),
      field("zero_window_probes", &T::zero_window_probes, "probes of a closed window"),
      field("sack_used", &T::used_sack, "both ends agreed to use SACK"),
      field("sack_acks", &T::sack_acks, "acknowledgements with a SACK block"),
      field("dsack_acks", &T::dsack_acks, "acknowledgements with a DSACK block")};
};

template <>
struct Fields<capture::CapturedDirection> {
  using D = capture::CapturedDirection;
  static constexpr FieldList kList{
      field("packets", &D::packets, "segments as the wire carried them"),
      field("bytes", &D::bytes, "bytes on the wire, Ethernet header included, no FCS"),
      field("payload_bytes", &D::payload_bytes, "payload of all packets"),
      computed<D>(
          "throughput_mbps",
          [](const D& facts) {
            return facts.has_length() ? std::optional(facts.throughput_mbps) : std::nullopt;
          },
          "payload between the first and the last packet, 10^6 bit/s; null: there is no time "
          "between them")
          .at_least(0),
      spread(&D::tcp).null_if_unknown(),
      computed<D>(
          "longest_idle_s",
          [](const D& facts) {
            return facts.has_length() ? std::optional(facts.longest_idle_s) : std::nullopt;
          },
          "longest time between two packets; null: there is no time between the first and the last")
          .at_least(0),
      field("congestion_marks", &D::congestion_marks, "packets with ECN's CE"),
      field("frames", &D::frames, "frames as captured: a super-frame counts once"),
      field("frame_bytes", &D::frame_bytes, "bytes of these frames"),
      field("series", &D::series,
            "with --series, values for each bin, for the flows that the page shows")
          .omitted_if_unknown()};
};

template <>
struct Fields<capture::CapturedEnd> {
  using E = capture::CapturedEnd;
  static constexpr FieldList kList{field("address", &E::address, "address of the host"),
                                   field("port", &E::port, "port of TCP or UDP")};
};

template <>
struct Fields<capture::CapturedFlow> {
  using F = capture::CapturedFlow;
  static constexpr FieldList kList{
      field("protocol", &F::protocol, "protocol of the packets"),
      field("a", &F::a, "the end that opened the connection, or sent the first packet seen"),
      field("b", &F::b, "the other end"),
      field("tunnel", &F::tunnel, "VXLAN or Geneve network, GRE key; null: none"),
      field("interface", &F::interface, "interface that captured it").null_if_empty(),
      field("start_s", &F::start_s, "start, since the capture's first packet"),
      field("end_s", &F::end_s, "end, since the capture's first packet"),
      field("handshake_seen", &F::handshake_seen, "whether the handshake was seen; TCP only"),
      field("closed", &F::closed,
            "whether the connection closed: FIN in both directions, or RST; TCP only"),
      field("path_rtt_ms", &F::path_rtt_ms,
            "round trip of the whole path, the sum of both halves, where both were seen")
          .at_least(0),
      field("a_to_b", &F::a_to_b, "what a sent"),
      field("b_to_a", &F::b_to_a, "what b sent")};
};

template <>
struct Fields<capture::CapturedDrops> {
  using D = capture::CapturedDrops;
  static constexpr FieldList kList{
      field("kernel", &D::kernel, "packets that did not fit into the kernel's buffer"),
      field("interface", &D::interface, "packets that the interface dropped")};
};

template <>
struct Fields<capture::CapturedDrop> {
  using D = capture::CapturedDrop;
  static constexpr FieldList kList{
      field("time_s", &D::time_s, "since the capture's first packet"),
      field("interface_name", &D::interface_name, "interface whose packets were dropped"),
      spread(&D::packets)};
};

template <>
struct Fields<capture::CapturedCollective> {
  using C = capture::CapturedCollective;
  static constexpr FieldList kList{
      field("kind", &C::kind, "kind of collective"),
      field("count", &C::count, "collectives of this kind"),
      field("sent_bytes", &C::sent_bytes, "bytes that this node sent"),
      field("received_bytes", &C::received_bytes, "bytes that this node received"),
      field("duration_ms", &C::duration_ms, "duration; null: no collective has ended").at_least(0)};
};

template <>
struct Fields<capture::CapturedGloo> {
  using G = capture::CapturedGloo;
  static constexpr FieldList kList{
      field("connections", &G::connections, "connections that carried Gloo's messages"),
      field("messages", &G::messages, "messages of Gloo"),
      field("collectives", &G::collectives, "collectives, one item for each kind")};
};

template <>
struct Fields<capture::Findings> {
  using F = capture::Findings;
  using Progress = capture::observer::Progress;
  static std::optional<documents::WallTime> first_packet_at(const F& findings) {
    return findings.progress.frames == 0
               ? std::nullopt
               : std::optional(documents::WallTime{.ns = findings.progress.first_ns});
  }
  static constexpr std::string_view kSchema = "chokepoint.capture/1";
  static constexpr const char* kCommand = "capture";
  // Written one by one (print_document).
  static constexpr const char* kFlows = "flows";
  static std::vector<capture::CapturedFlow> flows(const F& /*findings*/) { return {}; }

  static constexpr FieldList kList{
      field("source", &F::source, "interfaces or files"),
      within(&F::volume, field("packets", &capture::Volume::packets, "packets on the wire")),
      within(&F::volume, field("bytes", &capture::Volume::bytes,
                               "bytes on the wire, Ethernet header included, no FCS")),
      computed<F>(
          "dropped",
          [](const F& findings) {
            return capture::CapturedDrops{.kernel = findings.progress.dropped_by_kernel,
                                          .interface = findings.progress.dropped_by_interface};
          },
          "dropped packets of all interfaces"),
      computed<F>(
          "duration_s", [](const F& findings) { return findings.progress.seconds(); },
          "from the first packet to the last")
          .at_least(0),
      computed<F>("first_packet_at", first_packet_at,
                  "when the first packet came; null: there was none; RFC 3339, UTC"),
      within(&F::progress,
             field("frames", &Progress::frames, "frames as captured: a super-frame counts once")),
      within(&F::progress, field("frame_bytes", &Progress::frame_bytes, "bytes of these frames")),
      within(&F::volume, field("payload_bytes", &capture::Volume::payload_bytes,
                               "payload of TCP, UDP and RoCE")),
      within(&F::volume, field("retransmitted_packets", &capture::Volume::retransmitted_packets,
                               "retransmitted packets of TCP and RoCE")),
      field("interrupted", &F::is_interrupted, "ended before all was measured"),
      computed<F>(kFlows, flows, "those that were not folded into `remainder`"),
      field("remainder", &F::remainder, "flows that were added up to limit memory"),
      field("other", &F::others, "packets that belong to no flow"),
      computed<F>("gloo", capture::captured_gloo, "what Gloo's messages show"),
      computed<F>("roce", capture::captured_queue_pairs, "queue pairs"),
      computed<F>("drops", capture::captured_drops, "when packets were dropped"),
      field("interfaces", &F::interfaces, "interfaces that were captured"),
      field("remarks", &F::remarks, "what to know about the capture, one line each")};
};

}  // namespace chokepoint
