// chokepoint.probe.latency/1: how long small messages take, on the idle path and under load.
// Values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/documents/bounds.h"
#include "base/documents/peer.h"
#include "base/documents/values.h"

namespace chokepoint {

namespace documents {

// In milliseconds.
struct RoundTrips {
  double min = 0;
  double median = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
  double mean = 0;
  std::uint64_t count = 0;
};

// How far a stage has come: less than four intervals, four of them without agreement, agreement.
enum class Confidence { Low, Medium, High };

// Times are trimmed means; nullopt where there was no such probe.
struct Responsiveness {
  std::optional<double> rpm = {};
  Confidence confidence = Confidence::Low;
  Confidence goodput_confidence = Confidence::Low;
  std::optional<double> foreign_rpm = {};
  std::optional<double> self_rpm = {};
  std::optional<double> tcp_ms = {};
  std::optional<double> handshake_ms = {};
  std::optional<double> request_ms = {};
  std::optional<double> self_ms = {};
  std::optional<double> self_path_ms = {};
  std::optional<double> self_buffer_ms = {};
  std::size_t foreign_probes = 0;
  std::size_t self_probes = 0;
  std::size_t failed_probes = 0;
};

enum class Bloat { Unknown, None, Some, Much };

struct LatencyLoad {
  int connections = 0;
  bool stable = false;
  std::optional<double> throughput_mbps = {};
  std::optional<double> rtt_p90_ms = {};
  std::string error = {};
};

// All of it nullopt without that load.
struct UnderLoad {
  std::optional<RoundTrips> loaded_ms = {};
  std::optional<double> bufferbloat_ms = {};
  std::optional<double> rpm = {};
  std::optional<Responsiveness> responsiveness = {};
  std::optional<Bloat> bloat = {};
  std::optional<LatencyLoad> load = {};
};

struct UdpRoundTrips {
  std::optional<RoundTrips> trips_ms = {};
  std::optional<double> loss_percent = {};
};

struct LatencyOverUdp {
  UdpRoundTrips idle = {};
  UdpRoundTrips send = {};
  UdpRoundTrips receive = {};
  UdpRoundTrips both = {};
};

struct ProbeLatency {
  Peer peer = {};
  double gap_ms = 0;
  bool interrupted = false;
  std::optional<RoundTrips> idle_ms = {};
  UnderLoad send = {};
  UnderLoad receive = {};
  UnderLoad both = {};
  std::optional<double> rpm = {};
  std::optional<LatencyOverUdp> udp = {};
  std::string udp_problem = {};
  std::vector<std::string> summary = {};
};

}  // namespace documents

template <>
struct EnumNames<documents::Confidence> {
  using enum documents::Confidence;
  static constexpr std::string_view kWhat = "low, medium or high";
  static constexpr auto kNames = std::to_array<EnumName<documents::Confidence>>(
      {{Low, "low"}, {Medium, "medium"}, {High, "high"}});
};

template <>
struct EnumNames<documents::Bloat> {
  using enum documents::Bloat;
  static constexpr std::string_view kWhat = "unknown, none, some or much";
  static constexpr auto kNames = std::to_array<EnumName<documents::Bloat>>(
      {{Unknown, "unknown"}, {None, "none"}, {Some, "some"}, {Much, "much"}});
};

template <>
struct Fields<documents::RoundTrips> {
  using R = documents::RoundTrips;
  static constexpr FieldList kList{
      field("min", &R::min),
      field("median", &R::median),
      field("p90", &R::p90),
      field("p99", &R::p99),
      field("max", &R::max),
      field("mean", &R::mean),
      field("count", &R::count, "number of messages that were answered").between(1, kMaxCount)};
};

template <>
struct Fields<documents::Responsiveness> {
  using R = documents::Responsiveness;
  static constexpr FieldList kList{
      field("rpm", &R::rpm, "mean of foreign_rpm and self_rpm; null where one is missing")
          .at_least(0),
      field("confidence", &R::confidence,
            "confidence in the RPM: whether four intervals agree, differ, or were not reached"),
      field("goodput_confidence", &R::goodput_confidence,
            "confidence that the path was full, in the same three levels"),
      field("foreign_rpm", &R::foreign_rpm,
            "60,000 over the mean of tcp_ms, handshake_ms and request_ms: new connections beside "
            "the load")
          .at_least(0),
      field("self_rpm", &R::self_rpm, "60,000 over self_ms: requests within the load's connections")
          .at_least(0),
      field("tcp_ms", &R::tcp_ms,
            "TCP handshake of a new connection; a mean without the largest 5 %, as are the next "
            "four figures")
          .between(0, documents::kMaxMs),
      field("handshake_ms", &R::handshake_ms, "key agreement of the new connection, one round trip")
          .between(0, documents::kMaxMs),
      field("request_ms", &R::request_ms, "request of a small object on the new connection")
          .between(0, documents::kMaxMs),
      field("self_ms", &R::self_ms, "request of a small object within a connection of the load")
          .between(0, documents::kMaxMs),
      field("self_path_ms", &R::self_path_ms,
            "part of self_ms: the connection's round trip, by the sender's kernel")
          .between(0, documents::kMaxMs),
      field("self_buffer_ms", &R::self_buffer_ms, "the rest of self_ms: the sender's buffer")
          .between(0, documents::kMaxMs),
      field("foreign_probes", &R::foreign_probes,
            "probes over new connections in the last four intervals"),
      field("self_probes", &R::self_probes,
            "probes within the load's connections in the last four intervals"),
      field("failed_probes", &R::failed_probes,
            "probes over new connections that got no answer, in the whole test")};
};

template <>
struct Fields<documents::LatencyLoad> {
  using L = documents::LatencyLoad;
  static constexpr FieldList kList{
      field("connections", &L::connections, "connections that filled the path").at_least(0),
      field("stable", &L::stable, "whether the throughput stopped growing with more connections"),
      field("throughput_mbps", &L::throughput_mbps,
            "throughput of all connections over the last four intervals, 10^6 bit/s; null before "
            "the first interval ended")
          .between(0, documents::kMaxMbps),
      field("rtt_p90_ms", &L::rtt_p90_ms,
            "90th percentile of the connections' own round trips, by the sender's kernel, at the "
            "answers to requests")
          .between(0, documents::kMaxMs),
      field("error", &L::error, "error of the first connection that failed").null_if_empty()};
};

// The same fields of each way, whose names differ.
namespace documents::latency_fields {

constexpr auto udp_trips(const char* name, const char* text) {
  return field(name, &UdpRoundTrips::trips_ms, text).between(0, kMaxMs);
}
constexpr auto udp_loss(
    const char* name,
    const char* text = "share not answered within two seconds; null: nothing was sent") {
  return field(name, &UdpRoundTrips::loss_percent, text).between(0, 100);
}
constexpr auto loaded(const char* name, const char* text) {
  return field(name, &UnderLoad::loaded_ms, text).between(0, kMaxMs);
}
constexpr auto bufferbloat(const char* name) {
  return field(name, &UnderLoad::bufferbloat_ms, "median under load less median idle")
      .between(-kMaxMs, kMaxMs);
}
constexpr auto rpm(const char* name) {
  return field(name, &UnderLoad::rpm, "responsiveness, round trips a minute").at_least(0);
}
constexpr auto responsiveness(const char* name) {
  return field(name, &UnderLoad::responsiveness,
               "by draft-ietf-ippm-responsiveness-09: how it comes about; null without a load");
}
constexpr auto bloat(const char* name) {
  return field(name, &UnderLoad::bloat, "how much the load adds; null without one");
}
constexpr auto load(const char* name) {
  return field(name, &UnderLoad::load, "what filled the path; null without one");
}

}  // namespace documents::latency_fields

template <>
struct Fields<documents::LatencyOverUdp> {
  using U = documents::LatencyOverUdp;
  static constexpr FieldList kList{
      within(&U::idle,
             documents::latency_fields::udp_trips("idle_ms", "round trips on the idle path")),
      within(&U::idle, documents::latency_fields::udp_loss(
                           "idle_loss_percent",
                           "share not answered within two seconds; null: nothing was sent")),
      within(&U::send,
             documents::latency_fields::udp_trips("loaded_send_ms", "under a load to the peer")),
      within(&U::send, documents::latency_fields::udp_loss("loaded_send_loss_percent")),
      within(&U::receive, documents::latency_fields::udp_trips("loaded_receive_ms",
                                                               "under a load from the peer")),
      within(&U::receive, documents::latency_fields::udp_loss("loaded_receive_loss_percent")),
      within(&U::both, documents::latency_fields::udp_trips(
                           "loaded_both_ms", "under a load in both directions at once")),
      within(&U::both, documents::latency_fields::udp_loss("loaded_both_loss_percent"))};
};

template <>
struct Fields<documents::ProbeLatency> {
  using P = documents::ProbeLatency;
  static constexpr std::string_view kSchema = "chokepoint.probe.latency/1";
  static constexpr const char* kCommand = "probe latency";
  static constexpr FieldList kList{
      field("peer", &P::peer, "the other end"),
      field("gap_ms", &P::gap_ms, "time between messages").between(0, documents::kMaxMs),
      field("interrupted", &P::interrupted, "ended before all was measured"),
      field("idle_ms", &P::idle_ms,
            "round trips over TCP on the idle path, milliseconds; null: none came back")
          .between(0, documents::kMaxMs),
      within(&P::send, documents::latency_fields::loaded(
                           "loaded_send_ms",
                           "round trips over TCP under a load to the peer; null without one")),
      within(&P::send, documents::latency_fields::bufferbloat("bufferbloat_send_ms")),
      within(&P::send, documents::latency_fields::rpm("rpm_send")),
      within(&P::send, documents::latency_fields::responsiveness("responsiveness_send")),
      within(&P::send, documents::latency_fields::bloat("bloat_send")),
      within(&P::send, documents::latency_fields::load("load_send")),
      within(&P::receive, documents::latency_fields::loaded(
                              "loaded_receive_ms",
                              "round trips over TCP under a load from the peer; null without one")),
      within(&P::receive, documents::latency_fields::bufferbloat("bufferbloat_receive_ms")),
      within(&P::receive, documents::latency_fields::rpm("rpm_receive")),
      within(&P::receive, documents::latency_fields::responsiveness("responsiveness_receive")),
      within(&P::receive, documents::latency_fields::bloat("bloat_receive")),
      within(&P::receive, documents::latency_fields::load("load_receive")),
      within(&P::both,
             documents::latency_fields::loaded(
                 "loaded_both_ms",
                 "round trips over TCP under a load in both directions at once; null without one")),
      within(&P::both, documents::latency_fields::bufferbloat("bufferbloat_both_ms")),
      within(&P::both, documents::latency_fields::rpm("rpm_both")),
      within(&P::both, documents::latency_fields::responsiveness("responsiveness_both")),
      within(&P::both, documents::latency_fields::bloat("bloat_both")),
      within(&P::both, documents::latency_fields::load("load_both")),
      field("rpm", &P::rpm, "lowest RPM of all loads").at_least(0),
      field("udp", &P::udp, "the same over UDP; null without it"),
      field("udp_problem", &P::udp_problem, "why UDP was not measured").null_if_empty(),
      field("summary", &P::summary,
            "two sentences for each load: the delay it adds, and the responsiveness")};
};

}  // namespace chokepoint
