// chokepoint.probe.udp/1: what a path carries over UDP, in each direction, and where the rest is
// lost. If another program at the peer does not report a value, it is null, and both lists are
// empty. Values.
#pragma once

#include <array>
#include <cstddef>
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

enum class UdpLimit {
  Nothing,        // too little was measured
  Asked,          // everything that was asked for arrived
  Sender,         // the sending host could not send it
  SenderQueue,    // the sending host's interface was full, or dropped packets
  ReceiverQueue,  // the receiving socket's queue overflowed
  Path,           // the network lost packets, or a queue in it filled up
};

// What kept the sender to the rate.
enum class UdpPacing { Program };  // its own clock

// For the highest rate without loss.
struct UdpSearch {
  int trials = 0;
  double loss_limit_percent = 0;
  std::optional<double> failed_at_mbps = {};
  std::optional<double> failed_loss_percent = {};
};

// The largest of any stream.
struct UdpBurst {
  std::uint32_t batch_packets = 0;
  std::uint64_t batch_bytes = 0;
  double bucket_packets = 0;
  double bucket_bytes = 0;
  double hurried_ms = 0;
};

struct UdpInterval {
  double start_s = 0;
  double end_s = 0;
  std::uint64_t bytes = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t lost = 0;
  double throughput_mbps = 0;
  std::optional<double> jitter_ms = {};
};

struct UdpStream {
  double throughput_mbps = 0;
  double offered_mbps = 0;
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t lost = 0;
  std::uint64_t lost_in_receiver_queue = 0;
  std::uint64_t out_of_order = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t beyond_window = 0;
  std::uint64_t ignored = 0;
  std::optional<double> jitter_ms = {};
};

// Of one direction.
struct UdpFigures {
  double duration_s = 0;
  double throughput_mbps = 0;
  double offered_mbps = 0;
  std::uint64_t bytes = 0;
  std::uint64_t packets_sent = 0;
  std::uint64_t packets_received = 0;
  std::uint64_t lost = 0;
  std::optional<double> loss_percent = {};
  std::optional<std::uint64_t> lost_in_receiver_queue = {};
  std::optional<std::uint64_t> dropped_by_sender_queue = {};
  std::optional<std::uint64_t> skipped_by_sender = {};
  std::optional<double> sender_blocked_s = {};
  std::optional<std::uint64_t> out_of_order = {};
  std::optional<std::uint64_t> duplicates = {};
  std::optional<double> jitter_ms = {};
  std::optional<math::Distribution> one_way_delay_ms = {};
  std::optional<UdpBurst> burst = {};
  std::optional<UdpPacing> pacing = {};
  std::optional<bool> segmentation_offload = {};
  std::optional<std::int64_t> receive_buffer_bytes = {};
  std::optional<UdpLimit> limit = {};
  std::string summary = {};
  std::vector<UdpInterval> intervals = {};
  std::vector<UdpStream> per_stream = {};
};

struct ProbeUdp {
  Peer peer = {};
  Direction direction = Direction::Send;
  int streams = 1;
  std::size_t packet_bytes = 0;
  std::optional<double> asked_mbps = {};
  bool interrupted = false;
  std::optional<UdpSearch> search = {};
  std::optional<double> clock_offset_ms = {};
  std::optional<double> clock_uncertainty_ms = {};
  std::optional<double> rtt_min_ms = {};
  ByDirection<UdpFigures> by_direction = {};
};

}  // namespace documents

template <>
struct EnumNames<documents::UdpLimit> {
  using enum documents::UdpLimit;
  static constexpr std::string_view kWhat = "what limited the rate";
  static constexpr documents::UdpLimit kOtherwise = Nothing;
  static constexpr auto kNames =
      std::to_array<EnumName<documents::UdpLimit>>({{Nothing, "nothing"},
                                                    {Asked, "asked"},
                                                    {Sender, "sender"},
                                                    {SenderQueue, "sender-queue"},
                                                    {ReceiverQueue, "receiver-queue"},
                                                    {Path, "path"}});
};

template <>
struct EnumNames<documents::UdpPacing> {
  static constexpr std::string_view kWhat = "program";
  static constexpr auto kNames =
      std::to_array<EnumName<documents::UdpPacing>>({{documents::UdpPacing::Program, "program"}});
};

template <>
struct Fields<documents::UdpSearch> {
  using S = documents::UdpSearch;
  static constexpr FieldList kList{
      field("trials", &S::trials, "rates that were tried").at_least(0),
      field("loss_limit_percent", &S::loss_limit_percent, "maximum acceptable loss")
          .between(0, 100),
      field("failed_at_mbps", &S::failed_at_mbps, "the rate that ended the search; null: none did")
          .between(0, documents::kMaxMbps),
      field("failed_loss_percent", &S::failed_loss_percent, "loss at that rate").between(0, 100)};
};

template <>
struct Fields<documents::UdpBurst> {
  using B = documents::UdpBurst;
  static constexpr FieldList kList{
      field("batch_packets", &B::batch_packets, "largest number of packets sent back to back"),
      field("batch_bytes", &B::batch_bytes, "payload of that batch").at_most(documents::kMaxBytes),
      field("bucket_packets", &B::bucket_packets,
            "size of a token bucket of this rate that passes all packets without delay")
          .at_least(0),
      field("bucket_bytes", &B::bucket_bytes, "payload of these packets").at_least(0),
      field("hurried_ms", &B::hurried_ms,
            "longest time in which batches followed each other faster than the rate")
          .at_least(0)};
};

template <>
struct Fields<documents::UdpInterval> {
  using I = documents::UdpInterval;
  static constexpr FieldList kList{
      field("start_s", &I::start_s, "since the first arrival").between(0, documents::kMaxSeconds),
      field("end_s", &I::end_s, "since the first arrival").between(0, documents::kMaxSeconds),
      field("bytes", &I::bytes, "payload that arrived").at_most(documents::kMaxBytes),
      field("packets_received", &I::packets_received, "packets received, each once")
          .at_most(kMaxCount),
      field("lost", &I::lost, "packets missing from gaps that opened in this interval")
          .at_most(kMaxCount),
      field("throughput_mbps", &I::throughput_mbps, "payload that arrived, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("jitter_ms", &I::jitter_ms,
            "jitter by RFC 3550 at the end of the interval, of the worst stream")
          .between(0, documents::kMaxMs)};
};

template <>
struct Fields<documents::UdpStream> {
  using S = documents::UdpStream;
  static constexpr FieldList kList{
      field("throughput_mbps", &S::throughput_mbps, "payload that arrived, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("offered_mbps", &S::offered_mbps, "payload that was sent, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("packets_sent", &S::packets_sent, "packets sent, counted by the sender")
          .at_most(kMaxCount),
      field("packets_received", &S::packets_received, "packets received, each once")
          .at_most(kMaxCount),
      field("lost", &S::lost, "packets sent that did not arrive").at_most(kMaxCount),
      field("lost_in_receiver_queue", &S::lost_in_receiver_queue,
            "lost packets that the receiving socket dropped")
          .at_most(kMaxCount),
      field("out_of_order", &S::out_of_order, "packets that arrived after one with a higher number")
          .at_most(kMaxCount),
      field("duplicates", &S::duplicates, "further copies of packets").at_most(kMaxCount),
      field("beyond_window", &S::beyond_window,
            "packets that came too late to know whether they are copies")
          .at_most(kMaxCount),
      field("ignored", &S::ignored, "packets of an earlier run or of another sender")
          .at_most(kMaxCount),
      field("jitter_ms", &S::jitter_ms, "interarrival jitter, RFC 3550")
          .between(0, documents::kMaxMs)};
};

template <>
struct Fields<documents::UdpFigures> {
  using F = documents::UdpFigures;
  static const char* wrong(const F& direction) {
    return direction.lost > direction.packets_sent ? "no more lost than sent" : nullptr;
  }
  static constexpr FieldList kList{
      field("duration_s", &F::duration_s, "duration of sending").between(0, documents::kMaxSeconds),
      field("throughput_mbps", &F::throughput_mbps, "payload that arrived, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("offered_mbps", &F::offered_mbps, "payload that was sent, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("bytes", &F::bytes, "payload that arrived").at_most(documents::kMaxBytes),
      field("packets_sent", &F::packets_sent, "packets sent, counted by the sender")
          .at_most(kMaxCount),
      field("packets_received", &F::packets_received, "packets received, each once")
          .at_most(kMaxCount),
      field("lost", &F::lost, "packets sent that did not arrive").at_most(kMaxCount),
      field("loss_percent", &F::loss_percent,
            "share of the packets sent; null where none were sent")
          .between(0, 100),
      field("lost_in_receiver_queue", &F::lost_in_receiver_queue,
            "lost packets that the receiving socket dropped; null: the program at the peer does "
            "not report it")
          .at_most(kMaxCount),
      field("dropped_by_sender_queue", &F::dropped_by_sender_queue,
            "lost packets that the sender's interface dropped; null: the program at the peer does "
            "not report it")
          .at_most(kMaxCount),
      field("skipped_by_sender", &F::skipped_by_sender,
            "packets never sent because the sender stalled; null: the program at the peer does not "
            "report it")
          .at_most(kMaxCount),
      field("sender_blocked_s", &F::sender_blocked_s,
            "seconds in which the sender's interface accepted no more; null: the program at the "
            "peer does not report it")
          .between(0, documents::kMaxSeconds),
      field("out_of_order", &F::out_of_order,
            "packets that arrived after one with a higher number; null: the program at the peer "
            "does not report it")
          .at_most(kMaxCount),
      field("duplicates", &F::duplicates,
            "further copies of packets; null: the program at the peer does not report it")
          .at_most(kMaxCount),
      field("jitter_ms", &F::jitter_ms, "interarrival jitter, RFC 3550; mean over the streams")
          .between(0, documents::kMaxMs),
      field("one_way_delay_ms", &F::one_way_delay_ms,
            "delay in one direction; null where the clocks' offset is not known well enough; its "
            "uncertainty can make it negative")
          .between(-documents::kMaxMs, documents::kMaxMs),
      field("burst", &F::burst, "how evenly packets were sent; null without a rate"),
      field("pacing", &F::pacing,
            "what paced the sender: this program's own clock; null without a rate")
          .or_default(),
      field("segmentation_offload", &F::segmentation_offload,
            "the kernel cut messages into packets (GSO); null: the program at the peer does not "
            "report it"),
      field("receive_buffer_bytes", &F::receive_buffer_bytes, "buffer of the receiving socket")
          .at_least(0),
      field("limit", &F::limit,
            "what limited the rate: see docs/internals/udp.md; null: the program at the peer does "
            "not report it"),
      field("summary", &F::summary,
            "the limit in words; null: the program at the peer does not report it")
          .null_if_empty(),
      field("intervals", &F::intervals, "intervals of all streams together"),
      field("per_stream", &F::per_stream, "results of each flow")};
};

template <>
struct Fields<documents::ProbeUdp> {
  using P = documents::ProbeUdp;
  static constexpr std::string_view kSchema = "chokepoint.probe.udp/1";
  static constexpr const char* kCommand = "probe udp";
  static constexpr FieldList kList{
      field("peer", &P::peer, "the other end"),
      field("direction", &P::direction, "send: from here to the peer"),
      field("streams", &P::streams, "flows in each direction").at_least(1),
      field("packet_bytes", &P::packet_bytes, "payload of a packet").at_most(documents::kMaxBytes),
      field("asked_mbps", &P::asked_mbps,
            "requested rate, 10^6 bit/s; null: as fast as the sender can")
          .between(0, documents::kMaxMbps),
      field("interrupted", &P::interrupted, "ended before all was measured"),
      field("search", &P::search,
            "search for the highest rate without loss; null: the rate was given"),
      field("clock_offset_ms", &P::clock_offset_ms, "the peer's clock minus this host's clock")
          .between(-documents::kMaxClockMs, documents::kMaxClockMs),
      field("clock_uncertainty_ms", &P::clock_uncertainty_ms, "uncertainty of the offset")
          .between(0, documents::kMaxMs),
      field("rtt_min_ms", &P::rtt_min_ms, "the shortest round trip").between(0, documents::kMaxMs),
      spread(&P::by_direction)};
};

}  // namespace chokepoint
