// chokepoint.probe.quic/1: what a path carries over QUIC, in each direction, and what limits it.
// Values that only the peer knows are null if it is another program. Values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/documents/bounds.h"
#include "base/documents/by_direction.h"
#include "base/documents/peer.h"
#include "base/documents/values.h"

namespace chokepoint {

namespace documents {

enum class QuicCongestion { Cubic, Bbr, Reno };

enum class QuicLimit {
  Nothing,  // too little was measured, or only another program could measure it
  Asked,    // the pace that the user asked for
  SenderCpu,
  ReceiverCpu,
  FlowWindow,
  SendBuffer,  // the sender's interface, or its queue, took no more
  Loss,
  Marks,             // packets that the path marked instead of dropping them (ECN)
  Queue,             // the path is full: what is sent beyond its capacity waits in its queue
  CongestionWindow,  // its control does not let it grow, though hardly anything is lost
};

// Of the time until all was sent and acknowledged.
struct QuicShares {
  double processor = 0;
  double flow_window = 0;
  double congestion_window = 0;
  double pacing = 0;
  double send_buffer = 0;
  double application = 0;
};

struct QuicEcn {
  std::optional<std::uint64_t> sent_ect0 = {};
  std::optional<std::uint64_t> received_ect0 = {};
  std::optional<std::uint64_t> received_ce = {};
};

struct QuicCpu {
  std::optional<double> sender_percent = {};
  std::optional<double> receiver_percent = {};
  std::optional<double> sender_busy_percent = {};
  std::optional<double> receiver_busy_percent = {};
  std::optional<double> sender_percent_per_gbps = {};
  std::optional<double> receiver_percent_per_gbps = {};
  std::optional<double> sender_softirq_percent = {};
  std::optional<double> receiver_softirq_percent = {};
};

struct QuicInterval {
  double start_s = 0;
  double end_s = 0;
  std::uint64_t bytes = 0;
  double throughput_mbps = 0;
  std::optional<std::uint64_t> retransmits = {};
  std::optional<std::uint64_t> cwnd_bytes = {};
  std::optional<double> rtt_ms = {};
};

struct QuicStream {
  int stream = 0;
  std::uint64_t bytes = 0;
  double throughput_mbps = 0;
};

// What TCP and UDP carried afterwards; nullopt where the user interrupted.
struct QuicBeside {
  std::optional<double> tcp_mbps = {};
  std::optional<double> udp_mbps = {};
  std::optional<double> udp_loss_percent = {};
};

// Of one direction.
struct QuicFigures {
  double duration_s = 0;
  double throughput_mbps = 0;
  double peak_mbps = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> sent_bytes = {};
  std::optional<std::uint64_t> packets_sent = {};
  std::optional<std::uint64_t> packets_received = {};
  std::optional<std::uint64_t> lost = {};
  std::optional<double> loss_percent = {};
  std::optional<std::uint64_t> retransmits = {};
  std::optional<std::uint64_t> refused = {};
  std::optional<std::uint64_t> packet_bytes = {};
  std::optional<std::uint64_t> max_cwnd_bytes = {};
  std::optional<math::Distribution> rtt_ms = {};
  std::optional<double> min_rtt_ms = {};
  QuicEcn ecn = {};
  std::optional<bool> segmentation_offload = {};
  std::optional<double> packets_per_send_call = {};
  std::optional<double> packets_per_receive_call = {};
  QuicCpu cpu = {};
  std::optional<QuicShares> limited_by = {};
  QuicLimit limit = QuicLimit::Nothing;
  std::string summary = {};
  std::vector<QuicInterval> intervals = {};
  std::vector<QuicStream> per_stream = {};
  std::optional<QuicBeside> beside = {};
};

struct ProbeQuic {
  Peer peer = {};
  std::string library = {};
  std::optional<std::string> peer_library = {};
  Direction direction = Direction::Send;
  int streams = 1;
  bool interrupted = false;
  QuicCongestion congestion_control = QuicCongestion::Cubic;
  std::uint64_t window_bytes = 0;
  bool segmentation = false;
  double handshake_ms = 0;
  std::optional<double> resumption_ms = {};
  std::optional<bool> early_data_accepted = {};
  ByDirection<QuicFigures> by_direction = {};
};

}  // namespace documents

template <>
struct EnumNames<documents::QuicCongestion> {
  using enum documents::QuicCongestion;
  static constexpr std::string_view kWhat = "cubic, bbr or reno";
  static constexpr auto kNames = std::to_array<EnumName<documents::QuicCongestion>>(
      {{Cubic, "cubic"}, {Bbr, "bbr"}, {Reno, "reno"}});
};

template <>
struct EnumNames<documents::QuicLimit> {
  using enum documents::QuicLimit;
  static constexpr std::string_view kWhat = "what limited the test";
  static constexpr documents::QuicLimit kOtherwise = Nothing;
  static constexpr auto kNames =
      std::to_array<EnumName<documents::QuicLimit>>({{Nothing, "nothing"},
                                                     {Asked, "asked"},
                                                     {SenderCpu, "sender-cpu"},
                                                     {ReceiverCpu, "receiver-cpu"},
                                                     {FlowWindow, "flow-window"},
                                                     {SendBuffer, "send-buffer"},
                                                     {Loss, "loss"},
                                                     {Marks, "marks"},
                                                     {Queue, "queue"},
                                                     {CongestionWindow, "congestion-window"}});
};

template <>
struct Fields<documents::QuicShares> {
  using S = documents::QuicShares;
  static constexpr FieldList kList{
      field("processor", &S::processor, "share of the time in which the thread did not wait")
          .between(0, 1),
      field("flow_window", &S::flow_window,
            "share of the time in which the receiver's window was used up")
          .between(0, 1),
      field("congestion_window", &S::congestion_window,
            "share of the time in which the congestion window was full")
          .between(0, 1),
      field("pacing", &S::pacing,
            "share of the time in which the congestion control spaced packets out")
          .between(0, 1),
      field("send_buffer", &S::send_buffer,
            "share of the time in which the socket accepted nothing")
          .between(0, 1),
      field("application", &S::application,
            "share of the time in which the requested rate was kept, or nothing was left to send")
          .between(0, 1)};
};

template <>
struct Fields<documents::QuicEcn> {
  using E = documents::QuicEcn;
  static constexpr FieldList kList{
      field("sent_ect0", &E::sent_ect0, "packets sent as ECN-capable").at_most(kMaxCount),
      field("received_ect0", &E::received_ect0, "packets sent as ECN-capable that arrived unmarked")
          .at_most(kMaxCount),
      field("received_ce", &E::received_ce, "packets that the path marked for congestion")
          .at_most(kMaxCount)};
};

template <>
struct Fields<documents::QuicCpu> {
  using C = documents::QuicCpu;
  static constexpr const char* kBusy = "of the time, in which the thread did not wait";
  static constexpr const char* kPerGbps =
      "of a core for each 10^9 bit/s; null where nothing arrived";
  static constexpr const char* kSoftirq =
      "handling packets, on the core that had most of it; null where the kernel does not say";
  static constexpr FieldList kList{
      field("sender_percent", &C::sender_percent, "percent of a core")
          .at_most(documents::kMaxPercent),
      field("receiver_percent", &C::receiver_percent, "percent of a core")
          .at_most(documents::kMaxPercent),
      field("sender_busy_percent", &C::sender_busy_percent, kBusy).at_most(100),
      field("receiver_busy_percent", &C::receiver_busy_percent, kBusy).at_most(100),
      field("sender_percent_per_gbps", &C::sender_percent_per_gbps, kPerGbps),
      field("receiver_percent_per_gbps", &C::receiver_percent_per_gbps, kPerGbps),
      field("sender_softirq_percent", &C::sender_softirq_percent, kSoftirq),
      field("receiver_softirq_percent", &C::receiver_softirq_percent, kSoftirq)};
};

template <>
struct Fields<documents::QuicInterval> {
  using I = documents::QuicInterval;
  static constexpr FieldList kList{
      field("start_s", &I::start_s, "since the test began").between(0, documents::kMaxSeconds),
      field("end_s", &I::end_s, "since the test began").between(0, documents::kMaxSeconds),
      field("bytes", &I::bytes, "stream data that arrived").at_most(documents::kMaxBytes),
      field("throughput_mbps", &I::throughput_mbps, "stream data that arrived, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("retransmits", &I::retransmits,
            "packets declared lost in the interval; null where the sender does not report it")
          .at_most(kMaxCount),
      field(
          "cwnd_bytes", &I::cwnd_bytes,
          "congestion window at the end of the interval; null where the sender does not report it")
          .at_most(kMaxCount),
      field("rtt_ms", &I::rtt_ms,
            "smoothed round trip at the end of the interval; null where it was not measured")
          .between(0, documents::kMaxMs)};
};

template <>
struct Fields<documents::QuicStream> {
  using S = documents::QuicStream;
  static constexpr FieldList kList{
      field("stream", &S::stream, "number of the stream, from 0").at_least(0),
      field("bytes", &S::bytes, "stream data that arrived").at_most(documents::kMaxBytes),
      field("throughput_mbps", &S::throughput_mbps, "stream data that arrived, 10^6 bit/s")
          .between(0, documents::kMaxMbps)};
};

template <>
struct Fields<documents::QuicBeside> {
  using B = documents::QuicBeside;
  static constexpr FieldList kList{
      field("tcp_mbps", &B::tcp_mbps,
            "payload that arrived over TCP, 10^6 bit/s; null where it was interrupted")
          .between(0, documents::kMaxMbps),
      field(
          "udp_mbps", &B::udp_mbps,
          "payload that arrived over UDP, sent as fast as possible; null where it was interrupted")
          .between(0, documents::kMaxMbps),
      field("udp_loss_percent", &B::udp_loss_percent,
            "share of the UDP packets lost; null where none were sent")
          .between(0, 100)};
};

template <>
struct Fields<documents::QuicFigures> {
  using F = documents::QuicFigures;
  static constexpr FieldList kList{
      field("duration_s", &F::duration_s, "from the first arrival to the last")
          .between(0, documents::kMaxSeconds),
      field("throughput_mbps", &F::throughput_mbps, "stream data that arrived, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("peak_mbps", &F::peak_mbps, "rate of the best whole interval")
          .between(0, documents::kMaxMbps),
      field("bytes", &F::bytes,
            "stream data that arrived; with a peer that is not chokepoint: stream data that it "
            "acknowledged")
          .at_most(documents::kMaxBytes),
      field("sent_bytes", &F::sent_bytes, "stream data sent, each byte once")
          .at_most(documents::kMaxBytes),
      field("packets_sent", &F::packets_sent, "UDP packets of all kinds that the sender counted")
          .at_most(kMaxCount),
      field("packets_received", &F::packets_received,
            "UDP packets of all kinds that the receiver counted")
          .at_most(kMaxCount),
      field("lost", &F::lost, "packets sent minus packets received").at_most(kMaxCount),
      field("loss_percent", &F::loss_percent,
            "share of the packets sent; null where none were sent")
          .between(0, 100),
      field("retransmits", &F::retransmits,
            "packets that the sender's library declared lost and whose data it sent again")
          .at_most(kMaxCount),
      field("refused", &F::refused, "packets that the sender's kernel refused").at_most(kMaxCount),
      field("packet_bytes", &F::packet_bytes, "UDP payload that path MTU discovery reached")
          .at_most(kMaxCount),
      field("max_cwnd_bytes", &F::max_cwnd_bytes, "largest congestion window").at_most(kMaxCount),
      field(
          "rtt_ms", &F::rtt_ms,
          "round trip under load, smoothed by the sender's library; null where it was not measured")
          .between(0, documents::kMaxMs),
      field("min_rtt_ms", &F::min_rtt_ms,
            "shortest round trip by the sender; null where it was not measured")
          .between(0, documents::kMaxMs),
      field("ecn", &F::ecn, "marks in the IP headers"),
      field("segmentation_offload", &F::segmentation_offload,
            "the sender's kernel cut messages into packets (GSO)"),
      field("packets_per_send_call", &F::packets_per_send_call,
            "mean number of packets in a call; null where none were sent")
          .at_least(0),
      field("packets_per_receive_call", &F::packets_per_receive_call,
            "mean number of packets in a call; null where none were received")
          .at_least(0),
      field("cpu", &F::cpu, "CPU time of the thread that has the connection; 100 % is one core")
          .at_least(0),
      field("limited_by", &F::limited_by, "shares of the sender's time"),
      field("limit", &F::limit, "what limited the test: see docs/internals/quic.md"),
      field("summary", &F::summary, "the limit in words"),
      field("intervals", &F::intervals, "intervals by the receiver's clock"),
      field("per_stream", &F::per_stream, "results of each stream"),
      field("beside", &F::beside,
            "with --beside, what TCP and UDP carried in the same direction in short tests "
            "afterwards; else null")};
};

template <>
struct Fields<documents::ProbeQuic> {
  using P = documents::ProbeQuic;
  static constexpr std::string_view kSchema = "chokepoint.probe.quic/1";
  static constexpr const char* kCommand = "probe quic";
  static constexpr FieldList kList{
      field("peer", &P::peer, "the other end"),
      field("library", &P::library, "the QUIC library of this host"),
      field("peer_library", &P::peer_library,
            "the QUIC library of the peer; null with a peer that is not chokepoint"),
      field("direction", &P::direction, "send: from here to the peer"),
      field("streams", &P::streams, "streams in each direction, all in one connection").at_least(1),
      field("interrupted", &P::interrupted, "ended before all was measured"),
      field("congestion_control", &P::congestion_control, "congestion control of the senders"),
      field("window_bytes", &P::window_bytes, "flow control window of a receiver")
          .at_most(documents::kMaxBytes),
      field("segmentation", &P::segmentation, "UDP_SEGMENT and UDP_GRO were requested"),
      field("handshake_ms", &P::handshake_ms,
            "from the client's first packet until its handshake was complete")
          .between(0, documents::kMaxMs),
      field("resumption_ms", &P::resumption_ms,
            "from the first packet of a resumed connection until the first answer to its data; "
            "null where the server gave no ticket, or is not chokepoint")
          .between(0, documents::kMaxMs),
      field("early_data_accepted", &P::early_data_accepted,
            "whether data in the resumed connection's first packets (0-RTT) were accepted; null "
            "with a peer that is not chokepoint, where it is not tried"),
      spread(&P::by_direction)};
};

}  // namespace chokepoint
