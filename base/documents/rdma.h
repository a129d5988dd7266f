// chokepoint.rdma/1: what RDMA verbs carry between two ports, what both ports counted during the
// test, and whether the fabric had errors or congestion.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/documents/bounds.h"
#include "base/documents/peer.h"
#include "base/json/fields.h"

namespace chokepoint {

namespace documents {

using chokepoint::name_of;  // also where another one hides it

enum class RdmaTransport { Rc, Uc, Ud };
enum class RdmaOperation { Write, WriteImmediate, Read, Send, FetchAndAdd, CompareAndSwap };
enum class RdmaMetric { Bandwidth, Latency };
enum class GidType { InfiniBand, RoceV1, RoceV2 };
enum class LinkLayer { Ethernet, InfiniBand };
enum class FabricStatus { Clean, Reordered, Congested, NotReady, Late, Lost, Unknown };

struct RdmaLatency {
  double min = 0;
  double median = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
  double mean = 0;
  std::uint64_t count = 0;
};

// Of one end. What it does not count is unknown.
struct RdmaEnd {
  std::optional<std::uint64_t> messages = {};
  std::optional<std::uint64_t> bytes = {};
  std::optional<double> duration_s = {};
  std::optional<double> average_mbps = {};
  std::optional<std::uint64_t> mismatches = {};
  double cpu_percent = 0;
};

// Of one size. In a sweep the document's own are all unknown.
struct RdmaFigures {
  std::optional<std::uint32_t> message_bytes = {};
  std::optional<std::uint64_t> iterations = {};  // of both directions
  std::optional<double> duration_s = {};
  std::optional<double> average_mbps = {};
  std::optional<double> peak_mbps = {};
  std::optional<double> message_rate_per_s = {};
  std::optional<double> ceiling_mbps = {};
  std::optional<double> ceiling_percent = {};
  std::optional<RdmaLatency> latency_us = {};
  std::optional<std::uint64_t> lost = {};
  std::optional<std::uint64_t> mismatches = {};
  std::optional<int> moderation = {};
  std::optional<int> inline_bytes = {};
  std::optional<RdmaEnd> here = {};
  std::optional<RdmaEnd> there = {};
};

using CounterValues = std::map<std::string, std::uint64_t>;

// What a port counted during a test. Ends send each other theirs, too.
struct PortChanges {
  std::string subject = {};             // "mlx5_0/1"
  std::string netdev = {};              // empty: none is known
  CounterValues grown = {};             // only what changed
  std::vector<std::string> still = {};  // counted, and unchanged; sorted
  std::vector<std::string> lost = {};   // restarted from 0, or not readable; sorted

  // nullopt if it is not counted or was lost; 0 if it did not change.
  std::optional<std::uint64_t> of(std::string_view name) const {
    const auto at = grown.find(std::string(name));
    return at != grown.end()                               ? std::optional(at->second)
           : std::ranges::find(still, name) != still.end() ? std::optional<std::uint64_t>(0)
                                                           : std::nullopt;
  }
};

struct RdmaSide {
  std::string device = {};
  int port = 1;
  std::string netdev = {};
  std::string rate = {};
  LinkLayer link_layer = LinkLayer::InfiniBand;
  int gid_index = 0;
  std::string gid = {};
  GidType gid_type = GidType::InfiniBand;
  std::optional<std::uint16_t> lid = {};
  int active_mtu_bytes = 0;
  PortChanges counters = {};
};

struct RdmaSides {
  RdmaSide here = {};
  RdmaSide there = {};
};

struct FabricJudgement {
  FabricStatus status = FabricStatus::Unknown;
  std::string sentence = {};   // "the fabric was clean: no retransmission, …"
  std::string next_step = {};  // empty: nothing to be done
};

struct Rdma {
  Peer peer = {};
  RdmaOperation operation = RdmaOperation::Write;
  RdmaMetric metric = RdmaMetric::Bandwidth;
  RdmaTransport transport = RdmaTransport::Rc;
  std::string device = {};
  int gid_index = 0;
  int mtu_bytes = 0;
  int queue_pairs = 1;
  int depth = 0;
  int post_list = 1;
  bool both_ways = false;
  bool events = false;
  bool check = false;
  std::uint64_t warm_up = 0;
  bool by_cm = false;
  std::string memory = {};
  std::string peer_memory = {};
  RdmaFigures figures = {};
  CounterValues counters = {};
  FabricJudgement fabric = {};
  RdmaSides sides = {};
  std::vector<std::string> lowered = {};
  bool interrupted = false;
  std::optional<std::string> failure = {};
  std::vector<RdmaFigures> sizes = {};
  std::vector<std::string> missed = {};
};

}  // namespace documents

template <>
struct EnumNames<documents::RdmaTransport> {
  using enum documents::RdmaTransport;
  static constexpr std::string_view kWhat = "RC, UC or UD";
  static constexpr auto kNames =
      std::to_array<EnumName<documents::RdmaTransport>>({{Rc, "RC"}, {Uc, "UC"}, {Ud, "UD"}});
};

template <>
struct EnumNames<documents::RdmaOperation> {
  using enum documents::RdmaOperation;
  static constexpr std::string_view kWhat = "an RDMA operation";
  static constexpr auto kNames =
      std::to_array<EnumName<documents::RdmaOperation>>({{Write, "write"},
                                                         {WriteImmediate, "write_immediate"},
                                                         {Read, "read"},
                                                         {Send, "send"},
                                                         {FetchAndAdd, "fetch_and_add"},
                                                         {CompareAndSwap, "compare_and_swap"}});
};

template <>
struct EnumNames<documents::RdmaMetric> {
  using enum documents::RdmaMetric;
  static constexpr std::string_view kWhat = "bw or lat";
  static constexpr auto kNames =
      std::to_array<EnumName<documents::RdmaMetric>>({{Bandwidth, "bw"}, {Latency, "lat"}});
};

// As the kernel calls them.
template <>
struct EnumNames<documents::GidType> {
  using enum documents::GidType;
  static constexpr std::string_view kWhat = "InfiniBand, RoCE v1 or RoCE v2";
  static constexpr auto kNames = std::to_array<EnumName<documents::GidType>>(
      {{InfiniBand, "InfiniBand"}, {RoceV1, "RoCE v1"}, {RoceV2, "RoCE v2"}});
};

template <>
struct EnumNames<documents::LinkLayer> {
  using enum documents::LinkLayer;
  static constexpr std::string_view kWhat = "Ethernet or InfiniBand";
  static constexpr auto kNames = std::to_array<EnumName<documents::LinkLayer>>(
      {{Ethernet, "Ethernet"}, {InfiniBand, "InfiniBand"}});
};

template <>
struct EnumNames<documents::FabricStatus> {
  using enum documents::FabricStatus;
  static constexpr std::string_view kWhat = "how clean the fabric was";
  static constexpr auto kNames =
      std::to_array<EnumName<documents::FabricStatus>>({{Clean, "clean"},
                                                        {Reordered, "reordered"},
                                                        {Congested, "congested"},
                                                        {NotReady, "not-ready"},
                                                        {Late, "late"},
                                                        {Lost, "lost"},
                                                        {Unknown, "unknown"}});
};

template <>
struct Fields<documents::RdmaLatency> {
  using L = documents::RdmaLatency;
  static constexpr FieldList kList{
      field("min", &L::min),
      field("median", &L::median),
      field("p99", &L::p99),
      field("p999", &L::p999),
      field("max", &L::max),
      field("mean", &L::mean),
      field("count", &L::count, "number of values").at_most(kMaxCount)};
};

template <>
struct Fields<documents::RdmaEnd> {
  using E = documents::RdmaEnd;
  static constexpr FieldList kList{
      field("messages", &E::messages, "messages that passed; null: not counted"),
      field("bytes", &E::bytes, "bytes that passed; null: not counted"),
      field("duration_s", &E::duration_s, "duration of this end's part")
          .between(0, documents::kMaxSeconds),
      field("average_mbps", &E::average_mbps, "10^6 bit/s").between(0, documents::kMaxMbps),
      field("mismatches", &E::mismatches, "messages that differ from what was sent"),
      field("cpu_percent", &E::cpu_percent, "percent of a core that the thread used")
          .between(0, documents::kMaxPercent)};
};

template <>
struct Fields<documents::RdmaFigures> {
  using F = documents::RdmaFigures;
  static constexpr FieldList kList{
      field("message_bytes", &F::message_bytes,
            "size of a message; null in the document itself where it has a sweep of sizes"),
      field("iterations", &F::iterations,
            "messages measured, of all queue pairs and in both directions"),
      field("duration_s", &F::duration_s, "duration of the measurement")
          .between(0, documents::kMaxSeconds),
      field("average_mbps", &F::average_mbps, "10^6 bit/s").between(0, documents::kMaxMbps),
      field("peak_mbps", &F::peak_mbps, "10^6 bit/s").between(0, documents::kMaxMbps),
      field("message_rate_per_s", &F::message_rate_per_s, "messages a second").at_least(0),
      field("ceiling_mbps", &F::ceiling_mbps,
            "rate that the line carries with such messages, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("ceiling_percent", &F::ceiling_percent, "the average in percent of `ceiling_mbps`")
          .at_least(0),
      field("latency_us", &F::latency_us,
            "latency of a message: half of the round trip; for reads and atomics the whole round "
            "trip")
          .between(0, documents::kMaxUs),
      field("lost", &F::lost, "messages lost, where the transport may lose some"),
      field("mismatches", &F::mismatches,
            "messages that differ from what was sent; null: not compared"),
      field("moderation", &F::moderation, "requests per signalled completion").at_least(0),
      field("inline_bytes", &F::inline_bytes,
            "largest message that is written together with its request")
          .at_least(0),
      field("here", &F::here, "values of this end"),
      field("there", &F::there, "values of the peer")};
};

template <>
struct Fields<documents::PortChanges> {
  using C = documents::PortChanges;
  static constexpr std::size_t kMaxName = 64;  // bytes, of printable ASCII
  static constexpr std::size_t kMaxCounters = 512;
  static constexpr FieldList kList{
      field("subject", &C::subject, "device and port").up_to_bytes(kMaxName),
      field("netdev", &C::netdev, "network interface of the port; empty: none is known")
          .up_to_bytes(kMaxName),
      field("grown", &C::grown, "counters that grew, and by how much"),
      field("still", &C::still, "counters that did not change").up_to_items(kMaxCounters),
      field("lost", &C::lost,
            "counters that restarted from 0, or that could not be read at the end")
          .up_to_items(kMaxCounters)};

  static bool is_name(std::string_view text) {
    return !text.empty() && text.size() <= kMaxName &&
           std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  }
  static const char* wrong(const C& changes) {
    const bool are_names = std::ranges::all_of(changes.still, is_name) &&
                           std::ranges::all_of(changes.lost, is_name) &&
                           std::ranges::all_of(std::views::keys(changes.grown), is_name);
    return are_names && changes.grown.size() <= kMaxCounters
               ? nullptr
               : "names of 1 to 64 printable ASCII characters, of at most 512 counters";
  }
};

template <>
struct Fields<documents::RdmaSide> {
  using S = documents::RdmaSide;
  static constexpr FieldList kList{
      field("device", &S::device, "RDMA device of this end"),
      field("port", &S::port, "port of the device").at_least(0),
      field("netdev", &S::netdev, "network interface of the port").null_if_empty(),
      field("rate", &S::rate, "as the device reports it").null_if_empty(),
      field("link_layer", &S::link_layer, "link layer of the port"),
      field("gid_index", &S::gid_index, "index in the port's GID table").at_least(0),
      field("gid", &S::gid, "GID as an IP address"),
      field("gid_type", &S::gid_type, "GID type, as the kernel calls it"),
      field("lid", &S::lid, "InfiniBand's local identifier"),
      field("active_mtu_bytes", &S::active_mtu_bytes, "MTU of the port").at_least(0),
      field("counters", &S::counters, "counters of the port during the test")};
};

template <>
struct Fields<documents::RdmaSides> {
  using S = documents::RdmaSides;
  static constexpr FieldList kList{field("here", &S::here, "this end of the test"),
                                   field("there", &S::there, "the peer's end of the test")};
};

template <>
struct Fields<documents::FabricJudgement> {
  using J = documents::FabricJudgement;
  static constexpr FieldList kList{
      field("status", &J::status, "status, judged by the counters of both ends"),
      field("summary", &J::sentence, "the judgement in words"),
      field("next_step", &J::next_step, "what to do; null: nothing").null_if_empty()};
};

template <>
struct Fields<documents::Rdma> {
  using R = documents::Rdma;
  static constexpr std::string_view kSchema = "chokepoint.rdma/1";
  static constexpr const char* kCommand = "rdma write|read|send|atomic bw|lat";
  static constexpr FieldList kList{
      field("peer", &R::peer, "the other end"),
      field("operation", &R::operation, "what is measured"),
      field("metric", &R::metric, "throughput or latency"),
      field("transport", &R::transport, "transport of the queue pairs"),
      field("device", &R::device, "RDMA device of this host"),
      field("gid_index", &R::gid_index, "GID index of this host").at_least(0),
      field("mtu_bytes", &R::mtu_bytes, "MTU that both ends agreed on").at_least(0),
      field("queue_pairs", &R::queue_pairs, "queue pairs used at the same time").at_least(1),
      field("depth", &R::depth, "requests under way on a queue pair").at_least(0),
      field("post_list", &R::post_list, "requests posted at once").at_least(0),
      field("both_ways", &R::both_ways, "both directions at the same time"),
      field("events", &R::events, "sleep for completions instead of polling"),
      field("check", &R::check, "whether received data are compared with what was sent"),
      field("warm_up", &R::warm_up, "iterations that are not measured"),
      field("by_cm", &R::by_cm, "whether connections were made by rdma_cm"),
      field("memory", &R::memory, "memory of this end: host, huge or gpu:N"),
      field("peer_memory", &R::peer_memory, "memory of the peer: host, huge or gpu:N"),
      spread(&R::figures),
      field("counters", &R::counters, "counters of this host that grew"),
      field("fabric", &R::fabric, "whether the fabric had errors or congestion"),
      field("sides", &R::sides, "ports of both ends"),
      field("lowered", &R::lowered, "settings that are below their default, and why"),
      field("interrupted", &R::interrupted, "ended before all was measured"),
      field("failure", &R::failure, "why the test did not finish"),
      field("sizes", &R::sizes, "the figures of each size"),
      field("missed", &R::missed, "thresholds not reached, one line each")};
};

}  // namespace chokepoint
