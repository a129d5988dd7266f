// chokepoint.probe.paths/1: which of many flows between two hosts lose more, take longer or carry
// less than the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/documents/bounds.h"
#include "base/documents/flow_groups.h"
#include "base/documents/peer.h"
#include "base/documents/probe_path.h"
#include "base/documents/values.h"

namespace chokepoint {

namespace documents {

// What the flows of a group have more of, or less.
enum class FlowFault : std::uint8_t { Loss, Delay, Rate };

struct PathsRouter {
  int ttl = 0;
  net::Address address = {};
};

struct PathsFinding {
  FlowFault kind = FlowFault::Loss;
  Direction direction = Direction::Send;
  double p_value = 1;
  std::size_t flows = 0;
  SharePercent share_percent = {};
  std::optional<long> one_of_members = {};
  std::optional<double> loss_percent = {};
  std::optional<double> others_loss_percent = {};
  std::optional<double> later_ms = {};
  std::optional<double> rate_mbps = {};
  std::optional<double> others_rate_mbps = {};
  std::vector<std::uint16_t> source_ports = {};
  std::vector<std::uint16_t> unclear_source_ports = {};
  std::optional<PathsRouter> hop = {};
};

// The bad member that a sweep has to find before it calls all flows alike.
struct PathsExpected {
  int members = 8;  // of the bundle, at most: the bad one takes one in so many flows
  double loss_percent = 1;
};

// One direction of the sweep.
struct PathsDirection {
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::optional<double> loss_percent = {};
  std::uint64_t dropped_by_sockets = 0;
  std::optional<double> detectable_loss_percent = {};
};

struct PathsSeen {
  std::size_t at_least = 1;
  std::optional<std::size_t> by_hops = {};
  std::size_t traced_flows = 0;
};

// The routers from TTL 1 on, without the target; nullopt is one that did not answer.
using FlowHops = std::vector<std::optional<net::Address>>;

struct PathsFlow {
  std::uint16_t source_port = 0;
  std::optional<std::uint64_t> sent = {};
  std::optional<std::uint64_t> lost_there = {};
  std::optional<std::uint64_t> answered = {};
  std::optional<std::uint64_t> lost_back = {};
  std::optional<math::Distribution> rtt_ms = {};
  std::optional<double> later_there_ms = {};
  std::optional<double> later_back_ms = {};
  std::optional<FlowHops> hops = {};
  std::optional<double> rate_mbps = {};
  std::optional<std::uint64_t> retransmits = {};
  std::optional<double> min_rtt_ms = {};
};

struct ProbePaths {
  Peer peer = {};
  ProbeProtocol protocol = ProbeProtocol::Udp;
  std::optional<std::int64_t> packets_per_flow = {};
  std::optional<int> packet_bytes = {};
  std::optional<double> rate_mbps = {};
  std::optional<PathsExpected> expected = {};
  double duration_s = 0;
  FlowsVerdict verdict = FlowsVerdict::Unknown;
  std::string unknown_because = {};
  std::vector<PathsFinding> findings = {};
  std::optional<PathsDirection> send = {};
  std::optional<PathsDirection> receive = {};
  PathsSeen paths = {};
  std::vector<PathsFlow> flows = {};
  bool interrupted = false;
};

inline constexpr std::size_t kMaxFlows = 256;

}  // namespace documents

template <>
struct EnumNames<documents::FlowFault> {
  using enum documents::FlowFault;
  static constexpr std::string_view kWhat = "loss, delay or rate";
  static constexpr auto kNames = std::to_array<EnumName<documents::FlowFault>>(
      {{Loss, "loss"}, {Delay, "delay"}, {Rate, "rate"}});
};

template <>
struct Fields<documents::PathsRouter> {
  using R = documents::PathsRouter;
  static constexpr FieldList kList{
      field("ttl", &R::ttl, "distance from this host in hops").between(1, documents::kMaxHops),
      field("address", &R::address, "address of the router")};
};

template <>
struct Fields<documents::PathsFinding> {
  using F = documents::PathsFinding;
  static constexpr FieldList kList{
      field("kind", &F::kind, "what the flows have more of, or less"),
      field("direction", &F::direction, "send: from this host to the peer"),
      field("p_value", &F::p_value,
            "largest probability that flows without a difference look like this")
          .between(0, 1),
      field("flows", &F::flows, "flows in this group").between(1, documents::kMaxFlows),
      field("share_percent", &F::share_percent, "share of all flows"),
      field("one_of_members", &F::one_of_members,
            "estimated number of members of the bundle, of which this path is one; null where most "
            "flows are in the group")
          .between(1, documents::kMaxFlows),
      field("loss_percent", &F::loss_percent,
            "loss of the group; null unless the finding is a loss")
          .between(0, 100),
      field("others_loss_percent", &F::others_loss_percent,
            "loss of the other flows; null unless the finding is a loss")
          .between(0, 100),
      field("later_ms", &F::later_ms,
            "delay beyond the fastest flows; null unless the finding is a delay")
          .between(0, documents::kMaxMs),
      field("rate_mbps", &F::rate_mbps,
            "rate of a flow of the group alone; null unless the finding is a rate")
          .between(0, documents::kMaxMbps),
      field("others_rate_mbps", &F::others_rate_mbps,
            "rate of one of the fastest flows; null unless the finding is a rate")
          .between(0, documents::kMaxMbps),
      field("source_ports", &F::source_ports, "source ports of the flows in the group")
          .up_to_items(documents::kMaxFlows),
      field("unclear_source_ports", &F::unclear_source_ports,
            "source ports of flows that sent too little to decide")
          .up_to_items(documents::kMaxFlows),
      field("hop", &F::hop,
            "router that only flows of the group passed, as far as the trace shows; null where "
            "there is none, and on the reverse path")};
  static const char* wrong(const F& finding) {
    return finding.direction == documents::Direction::Both ? "send or receive as 'direction'"
                                                           : nullptr;
  }
};

template <>
struct Fields<documents::PathsExpected> {
  using E = documents::PathsExpected;
  static constexpr FieldList kList{
      field("members", &E::members, "largest number of members of the bundle").at_least(2),
      field("loss_percent", &E::loss_percent, "loss of a bad member, above that of the others")
          .between(0, 100)};
};

template <>
struct Fields<documents::PathsDirection> {
  using D = documents::PathsDirection;
  static constexpr FieldList kList{
      field("sent", &D::sent, "packets of all flows"), field("lost", &D::lost, "packets lost"),
      field("loss_percent", &D::loss_percent, "share of packets lost; null where nothing was sent")
          .between(0, 100),
      field("dropped_by_sockets", &D::dropped_by_sockets,
            "packets dropped by the receiving host's own sockets because they were full"),
      field("detectable_loss_percent", &D::detectable_loss_percent,
            "smallest loss of one of expected.members, above that of the others, that would have "
            "been found with a probability of 99 %; null: none")
          .between(0, 100)};
};

template <>
struct Fields<documents::PathsSeen> {
  using P = documents::PathsSeen;
  static constexpr FieldList kList{
      field("at_least", &P::at_least, "number of paths seen in use").at_least(1),
      field("by_hops", &P::by_hops,
            "number of paths by the routers that answered; null where none did")
          .at_least(1),
      field("traced_flows", &P::traced_flows, "flows traced to the peer")};
};

template <>
struct Fields<documents::PathsFlow> {
  using F = documents::PathsFlow;
  static constexpr FieldList kList{
      field("source_port", &F::source_port, "source port at this host"),
      field("sent", &F::sent, "packets sent; null with TCP"),
      field("lost_there", &F::lost_there, "packets lost on the path to the peer; null with TCP"),
      field("answered", &F::answered, "packets answered by the peer; null with TCP"),
      field("lost_back", &F::lost_back, "answers lost; null with TCP"),
      field("rtt_ms", &F::rtt_ms,
            "round trips, without the time in the peer; null where none came back")
          .at_least(0),
      field("later_there_ms", &F::later_there_ms,
            "delay to the peer beyond the fastest flows; null where too few came back"),
      field("later_back_ms", &F::later_back_ms,
            "delay from the peer beyond the fastest flows; null where too few came back"),
      field("hops", &F::hops,
            "routers from TTL 1 on, without the peer; null for one that did not answer; the list "
            "is null where the flow was not traced"),
      field("rate_mbps", &F::rate_mbps,
            "acknowledged rate of the flow alone; null with UDP, and for a flow that was not "
            "tested twice")
          .between(0, documents::kMaxMbps),
      field("retransmits", &F::retransmits, "segments retransmitted; null with UDP"),
      field("min_rtt_ms", &F::min_rtt_ms,
            "shortest round trip as the kernel measured it; null with UDP")
          .between(0, documents::kMaxMs)};
};

template <>
struct Fields<documents::ProbePaths> {
  using P = documents::ProbePaths;
  static constexpr std::string_view kSchema = "chokepoint.probe.paths/1";
  static constexpr const char* kCommand = "probe paths";
  static constexpr FieldList kList{
      field("peer", &P::peer, "the other end"),
      field("protocol", &P::protocol, "protocol of the flows"),
      field("packets_per_flow", &P::packets_per_flow,
            "packets requested for each flow; null with TCP")
          .at_least(1),
      field("packet_bytes", &P::packet_bytes,
            "bytes on the wire, Ethernet header included, no FCS; null with TCP")
          .at_least(1),
      field("rate_mbps", &P::rate_mbps,
            "upper limit of all flows together, in each direction; with TCP of the flow that "
            "sends; null where there was none")
          .at_least(0),
      field("expected", &P::expected,
            "fault that is to be found with a probability of 99 %; null with TCP"),
      field("duration_s", &P::duration_s, "duration of sending").at_least(0),
      field("verdict", &P::verdict,
            "alike: the expected fault would have been found; unknown: too little was sent to find "
            "it"),
      field("unknown_because", &P::unknown_because, "why the verdict is unknown; else null")
          .null_if_empty(),
      field("findings", &P::findings, "findings, the clearest first")
          .up_to_items(documents::kMaxFlows),
      field("send", &P::send, "packets from this host to the peer; null with TCP"),
      field("receive", &P::receive, "answers from the peer; null with TCP"),
      field("paths", &P::paths, "number of paths that the flows take"),
      field("flows", &P::flows, "flows by source port").up_to_items(documents::kMaxFlows),
      field("interrupted", &P::interrupted, "ended before all was measured")};
};

}  // namespace chokepoint
