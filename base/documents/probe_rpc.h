// chokepoint.probe.rpc/1: how many calls a path carries, how long each takes, and what limits them.
// Values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/documents/bounds.h"
#include "base/documents/connection.h"
#include "base/documents/peer.h"
#include "base/documents/values.h"

namespace chokepoint {

namespace documents {

enum class RpcLimit {
  Nothing,  // no call was answered
  ClientCpu,
  WorkerCpu,
  Worker,    // one held the calls for most of their time
  Outliers,  // few calls that took very long, without loss
  Loss,      // calls that waited for a retransmission
  Nagle,     // a small message waited for the acknowledgement of the one before
  ReceiveWindow,
  SendBuffer,
  Path,       // full
  Window,     // a message is larger than the congestion window when it begins
  RoundTrip,  // a call costs one, and no more calls were outstanding
  Hosts,      // waking up and passing on takes longer than the way
};

// In milliseconds.
struct RpcTimes {
  double min = 0;
  double median = 0;
  double p90 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
  double mean = 0;
  std::uint64_t count = 0;
};

struct RpcCpu {
  double percent = 0;
  double busy_percent = 0;
  std::optional<double> softirq_percent = {};
};

// Of the time in which there was something to send.
struct RpcShares {
  std::optional<double> receive_window = {};
  std::optional<double> send_buffer = {};
};

// What an end sends, as its kernel saw it.
struct RpcMessages {
  std::uint64_t retransmits = 0;
  std::optional<math::Distribution> rtt_ms = {};
  std::optional<double> min_rtt_ms = {};
  std::optional<std::int64_t> mss_bytes = {};
  std::optional<math::Distribution> window_bytes = {};
  std::uint64_t max_window_bytes = 0;
  RpcShares limited_by = {};
};

// A worker and the way to it. The means add up to the mean latency of the first hop.
struct RpcHop {
  std::string caller = {};
  std::string worker = {};
  std::string address = {};
  std::uint64_t calls = 0;
  std::optional<RpcTimes> latency_ms = {};
  std::optional<RpcTimes> held_ms = {};
  double network_ms = 0;
  double own_ms = 0;
  std::optional<double> network_percent = {};
  std::optional<double> own_percent = {};
  std::optional<double> round_trips = {};
  RpcMessages requests = {};
  RpcMessages answers = {};
  RpcCpu worker_cpu = {};
};

struct RpcFamily {
  std::vector<net::Address> addresses = {};
  Connection connection = Connection::Untried;
  std::string reason = {};
  std::optional<double> connect_ms = {};
};

struct RpcFamilies {
  RpcFamily ipv4 = {};
  RpcFamily ipv6 = {};
};

struct RpcOtherFamily {
  std::string address = {};
  double calls_per_s = 0;
  std::optional<RpcTimes> latency_ms = {};
};

struct RpcInterval {
  double start_s = 0;
  double end_s = 0;
  std::uint64_t calls = 0;
  std::optional<double> mean_ms = {};
  std::optional<double> max_ms = {};
};

struct ProbeRpc {
  Peer peer = {};
  std::uint64_t request_bytes = 0;
  std::uint64_t response_bytes = 0;
  int callers = 1;
  int outstanding = 1;
  double pause_ms = 0;
  bool no_delay = true;
  bool interrupted = false;
  double duration_s = 0;
  std::uint64_t calls = 0;
  std::uint64_t unanswered = 0;
  double calls_per_s = 0;
  double request_mbps = 0;
  double response_mbps = 0;
  std::optional<RpcTimes> latency_ms = {};
  std::optional<RpcTimes> held_ms = {};
  double network_ms = 0;
  std::optional<double> round_trips = {};
  RpcCpu client_cpu = {};
  std::vector<RpcHop> hops = {};
  RpcLimit limit = RpcLimit::Nothing;
  std::string summary = {};
  std::optional<RpcFamilies> families = {};
  std::optional<RpcOtherFamily> other_family = {};
  std::optional<std::string> dual_stack_finding = {};
  std::vector<RpcInterval> intervals = {};
};

}  // namespace documents

template <>
struct EnumNames<documents::RpcLimit> {
  using enum documents::RpcLimit;
  static constexpr std::string_view kWhat = "what limited calls";
  static constexpr documents::RpcLimit kOtherwise = Nothing;
  static constexpr auto kNames =
      std::to_array<EnumName<documents::RpcLimit>>({{Nothing, "nothing"},
                                                    {ClientCpu, "client-cpu"},
                                                    {WorkerCpu, "worker-cpu"},
                                                    {Worker, "worker"},
                                                    {Outliers, "outliers"},
                                                    {Loss, "loss"},
                                                    {Nagle, "nagle"},
                                                    {ReceiveWindow, "receive-window"},
                                                    {SendBuffer, "send-buffer"},
                                                    {Path, "path"},
                                                    {Window, "congestion-window"},
                                                    {RoundTrip, "round-trip"},
                                                    {Hosts, "hosts"}});
};

template <>
struct Fields<documents::RpcTimes> {
  using T = documents::RpcTimes;
  static constexpr FieldList kList{
      field("min", &T::min),   field("median", &T::median),
      field("p90", &T::p90),   field("p99", &T::p99),
      field("p999", &T::p999), field("max", &T::max),
      field("mean", &T::mean), field("count", &T::count, "number of calls").between(1, kMaxCount)};
};

template <>
struct Fields<documents::RpcCpu> {
  using C = documents::RpcCpu;
  static constexpr FieldList kList{
      field("percent", &C::percent, "percent of a core, by the thread that has the connections")
          .between(0, documents::kMaxPercent),
      field("busy_percent", &C::busy_percent, "share of the time in which that thread did not wait")
          .between(0, documents::kMaxPercent),
      field("softirq_percent", &C::softirq_percent,
            "share of the time spent handling packets, on the core that had most")
          .between(0, documents::kMaxPercent)};
};

template <>
struct Fields<documents::RpcShares> {
  using S = documents::RpcShares;
  static constexpr FieldList kList{
      field("receive_window", &S::receive_window, "the receiver's window was full").at_least(0),
      field("send_buffer", &S::send_buffer, "the send buffer was too small").at_least(0)};
};

template <>
struct Fields<documents::RpcMessages> {
  using M = documents::RpcMessages;
  static constexpr FieldList kList{
      field("retransmits", &M::retransmits, "segments retransmitted").at_most(kMaxCount),
      field("rtt_ms", &M::rtt_ms, "TCP's own round trip, sampled").between(0, documents::kMaxMs),
      field("min_rtt_ms", &M::min_rtt_ms, "TCP's shortest round trip")
          .between(0, documents::kMaxMs),
      field("mss_bytes", &M::mss_bytes, "payload of a full segment").at_least(1),
      field("window_bytes", &M::window_bytes,
            "congestion window when a message begins; null where a message fits into ten segments")
          .between(0, documents::kMaxBytes),
      field("max_window_bytes", &M::max_window_bytes, "largest congestion window seen")
          .at_most(documents::kMaxBytes),
      field("limited_by", &M::limited_by,
            "shares of the time in which there was something to send")};
};

template <>
struct Fields<documents::RpcHop> {
  using H = documents::RpcHop;
  static constexpr FieldList kList{
      field("caller", &H::caller, "host that makes the calls"),
      field("worker", &H::worker, "host that is called"),
      field("address", &H::address, "address of the worker, as its caller resolved it"),
      field("calls", &H::calls, "calls that were answered").at_most(kMaxCount),
      field("latency_ms", &H::latency_ms, "latency measured by the caller")
          .between(0, documents::kMaxMs),
      field("held_ms", &H::held_ms, "time that the worker held the call")
          .between(0, documents::kMaxMs),
      field("network_ms", &H::network_ms, "mean latency minus mean time held")
          .between(0, documents::kMaxMs),
      field("own_ms", &H::own_ms, "mean time held minus the mean latency of the worker's own calls")
          .between(0, documents::kMaxMs),
      field("network_percent", &H::network_percent,
            "network_ms in percent of the client's mean latency")
          .at_least(0),
      field("own_percent", &H::own_percent, "own_ms in percent of the client's mean latency")
          .at_least(0),
      field("round_trips", &H::round_trips,
            "round trips of the median call, without the time that the worker held it")
          .at_least(0),
      field("requests", &H::requests,
            "the requests' TCP connection, as the caller's kernel saw it"),
      field("answers", &H::answers, "the answers' TCP connection, as the worker's kernel saw it"),
      field("worker_cpu", &H::worker_cpu, "CPU time of the worker; 100 % is one core")};
};

template <>
struct Fields<documents::RpcFamily> {
  using F = documents::RpcFamily;
  static constexpr FieldList kList{
      field("addresses", &F::addresses, "addresses that the name resolves to"),
      field("connection", &F::connection, "result of a TCP connection to the port"),
      field("reason", &F::reason, "why there is no connection").null_if_empty(),
      field("connect_ms", &F::connect_ms, "time of the handshake").between(0, documents::kMaxMs)};
};

template <>
struct Fields<documents::RpcFamilies> {
  using F = documents::RpcFamilies;
  static constexpr FieldList kList{field("ipv4", &F::ipv4, "over IPv4"),
                                   field("ipv6", &F::ipv6, "over IPv6")};
};

template <>
struct Fields<documents::RpcOtherFamily> {
  using O = documents::RpcOtherFamily;
  static constexpr FieldList kList{
      field("address", &O::address, "address that was used"),
      field("calls_per_s", &O::calls_per_s, "calls answered per second").at_least(0),
      field("latency_ms", &O::latency_ms, "latency of these calls").between(0, documents::kMaxMs)};
};

template <>
struct Fields<documents::RpcInterval> {
  using I = documents::RpcInterval;
  static constexpr FieldList kList{
      field("start_s", &I::start_s, "since the test began").between(0, documents::kMaxSeconds),
      field("end_s", &I::end_s, "since the test began").between(0, documents::kMaxSeconds),
      field("calls", &I::calls, "calls that were answered").at_most(kMaxCount),
      field("mean_ms", &I::mean_ms, "mean latency of these calls").between(0, documents::kMaxMs),
      field("max_ms", &I::max_ms, "largest latency of these calls").between(0, documents::kMaxMs)};
};

template <>
struct Fields<documents::ProbeRpc> {
  using P = documents::ProbeRpc;
  static constexpr std::string_view kSchema = "chokepoint.probe.rpc/1";
  static constexpr const char* kCommand = "probe rpc";
  static constexpr FieldList kList{
      field("peer", &P::peer, "the other end"),
      field("request_bytes", &P::request_bytes, "bytes of a request")
          .between(1, documents::kMaxBytes),
      field("response_bytes", &P::response_bytes, "bytes of an answer")
          .between(1, documents::kMaxBytes),
      field("callers", &P::callers, "callers, with one connection each").at_least(1),
      field("outstanding", &P::outstanding, "calls of a caller at once").at_least(1),
      field("pause_ms", &P::pause_ms, "time from an answer to the caller's next call").at_least(0),
      field("no_delay", &P::no_delay, "without Nagle's algorithm"),
      field("interrupted", &P::interrupted, "ended before all was measured"),
      field("duration_s", &P::duration_s, "from the first call to the last answer")
          .between(0, documents::kMaxSeconds),
      field("calls", &P::calls, "calls that were answered").at_most(kMaxCount),
      field("unanswered", &P::unanswered,
            "calls that were under way when an interrupted test ended")
          .at_most(kMaxCount),
      field("calls_per_s", &P::calls_per_s, "answered calls over duration_s").at_least(0),
      field("request_mbps", &P::request_mbps, "payload of the requests, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("response_mbps", &P::response_mbps, "payload of the answers, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("latency_ms", &P::latency_ms,
            "latency of the client's calls, in a chain of a whole round; milliseconds; null: no "
            "call was answered")
          .between(0, documents::kMaxMs),
      field(
          "held_ms", &P::held_ms,
          "time that the peer held a call: from the request's last byte to the answer's first byte")
          .between(0, documents::kMaxMs),
      field("network_ms", &P::network_ms,
            "mean latency minus the mean time that the peer held calls")
          .between(0, documents::kMaxMs),
      field("round_trips", &P::round_trips,
            "round trips of the path in a median call, without the time that the peer held it")
          .at_least(0),
      field("client_cpu", &P::client_cpu, "CPU time of the client; 100 % is one core"),
      field("hops", &P::hops, "the peer, and the workers of a chain behind it"),
      field("limit", &P::limit, "what limited the calls: see docs/internals/rpc.md"),
      field("summary", &P::summary, "the limit in words"),
      field("families", &P::families,
            "addresses that the peer's name resolves to, by family; null: the peer was given as an "
            "address, or the test was interrupted"),
      field("other_family", &P::other_family,
            "the same calls over the family that the test did not use; null where it was not "
            "tried"),
      field("dual_stack_finding", &P::dual_stack_finding,
            "what differs between both families; null where both work equally well"),
      field("intervals", &P::intervals, "intervals by the client's clock")};
};

}  // namespace chokepoint
