// chokepoint.probe.tcp/1: what a path carries over TCP, in each direction, and what limits it. The
// same with another program's server. Values.
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

enum class TcpLimit {
  Nothing,  // too little was measured
  Asked,    // the pace that the user asked for
  SenderCpu,
  ReceiverCpu,
  Application,  // the sender had nothing to send
  SendBuffer,
  ReceiveWindow,
  Loss,
  Queue,      // the path is full: what is sent beyond its capacity waits in its queue
  Path,       // the path is full; its queue is short, or a policer limits it
  SlowStart,  // the test ended before the connection reached its speed
};

// What keeps a sender to the pace that was asked for.
enum class TcpPacing {
  Fq,    // the queueing discipline of its interface
  Timer  // TCP's own timer in the kernel
};

// Of the time, which one limited the sender.
struct TcpShares {
  double application = 0;
  double receive_window = 0;
  double send_buffer = 0;
  double network = 0;
};

struct TcpCpu {
  double sender_percent = 0;
  double receiver_percent = 0;
  std::optional<double> sender_softirq_percent = {};
  std::optional<double> receiver_softirq_percent = {};
  std::optional<double> sender_busiest_core_percent = {};
  std::optional<double> receiver_busiest_core_percent = {};
};

struct TcpInterval {
  double start_s = 0;
  double end_s = 0;
  std::uint64_t bytes = 0;
  double throughput_mbps = 0;
  std::optional<std::uint64_t> retransmits = {};
  std::optional<std::uint64_t> cwnd_bytes = {};
  std::optional<double> rtt_ms = {};
};

struct TcpStream {
  int stream = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  double throughput_mbps = 0;
  std::optional<std::uint64_t> retransmits = {};
  std::optional<std::uint64_t> max_cwnd_bytes = {};
  std::optional<math::Distribution> rtt_ms = {};
  double sender_cpu_percent = 0;
  double receiver_cpu_percent = 0;
  std::string error = {};
};

// Of one direction.
struct TcpFigures {
  double duration_s = 0;
  std::string congestion_control = {};
  std::optional<std::int64_t> mss_bytes = {};
  double throughput_mbps = 0;
  double peak_mbps = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::optional<std::uint64_t> retransmits = {};
  std::optional<std::uint64_t> max_cwnd_bytes = {};
  std::optional<math::Distribution> rtt_ms = {};
  std::optional<math::Distribution> receiver_rtt_ms = {};
  TcpCpu cpu = {};
  std::optional<TcpPacing> pacing = {};
  std::optional<TcpShares> limited_by = {};
  TcpLimit limit = TcpLimit::Nothing;
  std::string summary = {};
  std::vector<TcpInterval> intervals = {};
  std::vector<TcpStream> per_stream = {};
};

struct ProbeTcp {
  Peer peer = {};
  Direction direction = Direction::Send;
  int streams = 1;
  bool interrupted = false;
  bool zero_copy = false;
  ByDirection<TcpFigures> by_direction = {};
};

}  // namespace documents

template <>
struct EnumNames<documents::TcpLimit> {
  using enum documents::TcpLimit;
  static constexpr std::string_view kWhat = "what limited the test";
  static constexpr documents::TcpLimit kOtherwise = Nothing;
  static constexpr auto kNames =
      std::to_array<EnumName<documents::TcpLimit>>({{Nothing, "nothing"},
                                                    {Asked, "asked"},
                                                    {SenderCpu, "sender-cpu"},
                                                    {ReceiverCpu, "receiver-cpu"},
                                                    {Application, "application"},
                                                    {SendBuffer, "send-buffer"},
                                                    {ReceiveWindow, "receive-window"},
                                                    {Loss, "loss"},
                                                    {Queue, "queue"},
                                                    {Path, "path"},
                                                    {SlowStart, "slow-start"}});
};

template <>
struct EnumNames<documents::TcpPacing> {
  using enum documents::TcpPacing;
  static constexpr std::string_view kWhat = "fq or timer";
  static constexpr auto kNames =
      std::to_array<EnumName<documents::TcpPacing>>({{Fq, "fq"}, {Timer, "timer"}});
};

template <>
struct Fields<documents::TcpShares> {
  using S = documents::TcpShares;
  static constexpr FieldList kList{
      field("application", &S::application, "share of the time without data to send").between(0, 1),
      field("receive_window", &S::receive_window,
            "share of the time in which the receive window was full")
          .between(0, 1),
      field("send_buffer", &S::send_buffer,
            "share of the time in which the send buffer was too small")
          .between(0, 1),
      field("network", &S::network,
            "share of the time in which the congestion window, pacing or the path was the limit")
          .between(0, 1)};
};

template <>
struct Fields<documents::TcpCpu> {
  using C = documents::TcpCpu;
  static constexpr const char* kOwn = "of the streams' threads; 100 % is one core";
  static constexpr const char* kSoftirq = "handling packets, on the core that had most of it";
  static constexpr const char* kBusiest = "of any kind of work";
  static constexpr FieldList kList{
      field("sender_percent", &C::sender_percent, kOwn),
      field("receiver_percent", &C::receiver_percent, kOwn),
      field("sender_softirq_percent", &C::sender_softirq_percent, kSoftirq),
      field("receiver_softirq_percent", &C::receiver_softirq_percent, kSoftirq),
      field("sender_busiest_core_percent", &C::sender_busiest_core_percent, kBusiest),
      field("receiver_busiest_core_percent", &C::receiver_busiest_core_percent, kBusiest)};
};

template <>
struct Fields<documents::TcpInterval> {
  using I = documents::TcpInterval;
  static constexpr FieldList kList{
      field("start_s", &I::start_s, "since the test began").between(0, documents::kMaxSeconds),
      field("end_s", &I::end_s, "since the test began").between(0, documents::kMaxSeconds),
      field("bytes", &I::bytes, "payload that arrived").at_most(documents::kMaxBytes),
      field("throughput_mbps", &I::throughput_mbps, "payload that arrived, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("retransmits", &I::retransmits, "segments retransmitted").at_most(kMaxCount),
      field("cwnd_bytes", &I::cwnd_bytes, "congestion windows of all streams, added up")
          .at_most(documents::kMaxBytes),
      field("rtt_ms", &I::rtt_ms, "round trip by the sender's kernel, mean over the streams")
          .between(0, documents::kMaxMs)};
};

template <>
struct Fields<documents::TcpStream> {
  using S = documents::TcpStream;
  static constexpr FieldList kList{
      field("stream", &S::stream, "number of the connection, from 0").at_least(0),
      field("bytes", &S::bytes, "payload that arrived, without the omitted start")
          .at_most(documents::kMaxBytes),
      field("sent_bytes", &S::sent_bytes, "bytes sent in total, counted by the sender")
          .at_most(documents::kMaxBytes),
      field("received_bytes", &S::received_bytes,
            "bytes received in total, counted by the receiver")
          .at_most(documents::kMaxBytes),
      field("throughput_mbps", &S::throughput_mbps, "payload that arrived, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("retransmits", &S::retransmits, "segments retransmitted").at_most(kMaxCount),
      field("max_cwnd_bytes", &S::max_cwnd_bytes, "largest congestion window")
          .at_most(documents::kMaxBytes),
      field("rtt_ms", &S::rtt_ms,
            "round trip by the sender's kernel; null where it does not report one")
          .between(0, documents::kMaxMs),
      field("sender_cpu_percent", &S::sender_cpu_percent,
            "percent of a core that the stream's sending thread used")
          .between(0, documents::kMaxPercent),
      field("receiver_cpu_percent", &S::receiver_cpu_percent,
            "percent of a core that the stream's receiving thread used")
          .between(0, documents::kMaxPercent),
      field("error", &S::error, "why the stream broke").null_if_empty()};
};

template <>
struct Fields<documents::TcpFigures> {
  using F = documents::TcpFigures;
  static constexpr FieldList kList{
      field("duration_s", &F::duration_s, "from the first arrival to the last")
          .between(0, documents::kMaxSeconds),
      field("congestion_control", &F::congestion_control, "congestion control of the sender")
          .null_if_empty(),
      field("mss_bytes", &F::mss_bytes, "payload of a full segment").at_least(0),
      field("throughput_mbps", &F::throughput_mbps, "payload that arrived, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("peak_mbps", &F::peak_mbps, "rate of the best whole interval, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("bytes", &F::bytes, "payload that arrived, without the omitted start")
          .at_most(documents::kMaxBytes),
      field("sent_bytes", &F::sent_bytes, "bytes sent in total, counted by the sender")
          .at_most(documents::kMaxBytes),
      field("received_bytes", &F::received_bytes,
            "bytes received in total, counted by the receiver")
          .at_most(documents::kMaxBytes),
      field("retransmits", &F::retransmits, "segments retransmitted").at_most(kMaxCount),
      field("max_cwnd_bytes", &F::max_cwnd_bytes, "largest congestion windows of all streams")
          .at_most(documents::kMaxBytes),
      field("rtt_ms", &F::rtt_ms,
            "round trip under load by the sender's kernel; null where it does not report one")
          .between(0, documents::kMaxMs),
      field("receiver_rtt_ms", &F::receiver_rtt_ms,
            "round trip by the receiver's kernel; null where it does not report one")
          .between(0, documents::kMaxMs),
      field("cpu", &F::cpu, "CPU time of both hosts").between(0, documents::kMaxPercent),
      field("pacing", &F::pacing,
            "what paced the sender to --rate: the fq queueing discipline, or TCP's own timer in "
            "the kernel; null without --rate and where the sender does not report it")
          .or_default(),
      field("limited_by", &F::limited_by,
            "shares of the sender's time; null where its kernel does not report them"),
      field("limit", &F::limit, "what limited the test: see docs/internals/tcp.md"),
      field("summary", &F::summary, "the limit in words"),
      field("intervals", &F::intervals, "intervals by the receiver's clock"),
      field("per_stream", &F::per_stream, "results of each connection")};
};

template <>
struct Fields<documents::ProbeTcp> {
  using P = documents::ProbeTcp;
  static constexpr std::string_view kSchema = "chokepoint.probe.tcp/1";
  static constexpr const char* kCommand = "probe tcp";
  static constexpr FieldList kList{
      field("peer", &P::peer, "the other end"),
      field("direction", &P::direction, "send: from here to the peer"),
      field("streams", &P::streams, "connections in each direction").at_least(1),
      field("interrupted", &P::interrupted, "ended before all was measured"),
      field("zero_copy", &P::zero_copy,
            "data sent without a copy between program and kernel, where the kernel supports it"),
      spread(&P::by_direction)};
};

}  // namespace chokepoint
