// The readings of probe path and probe paths.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "preflight/coordinator/readings.h"
#include "preflight/task/measured.h"

namespace chokepoint::preflight::coordinator {
namespace {

constexpr double kMaxPacketBytes = 1 << 20;  // the kernel reports such sizes on loopback
constexpr double kMaxHops = 255;
constexpr std::size_t kMaxFlows = 256;

struct PathMtu {
  Figure path_mtu_bytes = {};
  Figure black_hole_bytes = {};
};

struct PathDirection {
  Figure hops = {};
  std::optional<PathMtu> mtu = {};
};

struct PathFamily {
  std::optional<bool> resolves = {};
  std::optional<std::string> connection = {};
  std::optional<PathDirection> forward = {};
  std::optional<PathDirection> reverse = {};
};

struct PathPeer {
  std::string family = {};
};

struct PathDocument {
  PathPeer peer = {};
  std::map<std::string, PathFamily> families = {};
};

struct FlowsRouter {
  std::string address = {};
};

struct FlowsFinding {
  MemberFault kind = MemberFault::Loss;
  std::string direction = {};
  std::uint32_t flows = 0;
  std::optional<std::uint32_t> one_of_members = {};
  Figure loss_percent = {};
  Figure others_loss_percent = {};
  Figure later_ms = {};
  Figure rate_mbps = {};
  Figure others_rate_mbps = {};
  std::vector<std::uint16_t> source_ports = {};
  std::optional<FlowsRouter> hop = {};
};

struct FlowsFlow {
  std::uint16_t source_port = 0;
};

struct FlowsDocument {
  std::string verdict = {};
  std::vector<FlowsFinding> findings = {};
  std::vector<FlowsFlow> flows = {};
};

}  // namespace
}  // namespace chokepoint::preflight::coordinator

namespace chokepoint {

namespace coordinator = preflight::coordinator;

template <>
struct Fields<coordinator::PathMtu> {
  using P = coordinator::PathMtu;
  static constexpr std::tuple kList{
      field("path_mtu_bytes", &P::path_mtu_bytes, "the largest packet that passes")
          .between(0, coordinator::kMaxPacketBytes),
      field("black_hole_from_bytes", &P::black_hole_bytes, "packets vanish from this size on")
          .between(0, coordinator::kMaxPacketBytes)};
};

template <>
struct Fields<coordinator::PathDirection> {
  using P = coordinator::PathDirection;
  static constexpr std::tuple kList{
      field("length", &P::hops, "hops").between(0, coordinator::kMaxHops),
      field("mtu", &P::mtu, "which packets pass")};
};

template <>
struct Fields<coordinator::PathFamily> {
  using P = coordinator::PathFamily;
  static constexpr std::tuple kList{
      field("resolves", &P::resolves, "whether the peer has an address of this family"),
      field("connection", &P::connection, "what became of a TCP connection")
          .up_to_bytes(coordinator::kMaxWordBytes),
      field("forward", &P::forward, "the path to the peer"),
      field("reverse", &P::reverse, "the path back")};
};

template <>
struct Fields<coordinator::PathPeer> {
  static constexpr std::tuple kList{field("family", &coordinator::PathPeer::family,
                                          "of the address that was tested: ipv4 or ipv6")};
  static const char* wrong(const coordinator::PathPeer& peer) {
    return peer.family == "ipv4" || peer.family == "ipv6" ? nullptr : "ipv4 or ipv6 as 'family'";
  }
};

template <>
struct Fields<coordinator::PathDocument> {
  using P = coordinator::PathDocument;
  static constexpr std::tuple kList{
      field("peer", &P::peer, "the other host"),
      field("families", &P::families, "the paths to it, by address family")};
};

template <>
struct Fields<coordinator::FlowsRouter> {
  static constexpr std::tuple kList{
      field("address", &coordinator::FlowsRouter::address, "its address")
          .up_to_bytes(coordinator::kMaxWordBytes)};
};

template <>
struct Fields<coordinator::FlowsFinding> {
  using F = coordinator::FlowsFinding;
  static constexpr std::tuple kList{
      field("kind", &F::kind, "loss, delay or rate"),
      field("direction", &F::direction, "send or receive").up_to_bytes(coordinator::kMaxWordBytes),
      field("flows", &F::flows, "that take it").at_most(coordinator::kMaxFlows),
      field("one_of_members", &F::one_of_members, "about so many").at_most(coordinator::kMaxFlows),
      field("loss_percent", &F::loss_percent, "of these flows").between(0, 100),
      field("others_loss_percent", &F::others_loss_percent, "of the others").between(0, 100),
      field("later_ms", &F::later_ms, "than the fastest flows").between(0, coordinator::kMaxMs),
      field("rate_mbps", &F::rate_mbps, "of one of these flows").between(0, coordinator::kMaxMbps),
      field("others_rate_mbps", &F::others_rate_mbps, "of one of the others")
          .between(0, coordinator::kMaxMbps),
      field("source_ports", &F::source_ports, "of these flows").up_to_items(coordinator::kMaxFlows),
      field("hop", &F::hop, "a router that only they pass")};
  static const char* wrong(const F& finding) {
    return finding.direction == "send" || finding.direction == "receive"
               ? nullptr
               : "send or receive as 'direction'";
  }
};

template <>
struct Fields<coordinator::FlowsFlow> {
  static constexpr std::tuple kList{
      field("source_port", &coordinator::FlowsFlow::source_port, "of the flow")};
};

template <>
struct Fields<coordinator::FlowsDocument> {
  using F = coordinator::FlowsDocument;
  static constexpr std::tuple kList{
      field("verdict", &F::verdict, "found, alike or unknown")
          .up_to_bytes(coordinator::kMaxWordBytes),
      field("findings", &F::findings, "what some flows share").up_to_items(coordinator::kMaxFlows),
      field("flows", &F::flows, "all of them").up_to_items(coordinator::kMaxFlows)};
};

}  // namespace chokepoint

namespace chokepoint::preflight::coordinator {
namespace {

using control::Json;

FamilyState state_of(const PathFamily& family) {
  if (!family.resolves || !family.connection) {
    return FamilyState::Unknown;
  }
  if (!*family.resolves) {
    return FamilyState::Absent;
  }
  return *family.connection == "connected" ? FamilyState::Works
         : *family.connection == "untried" ? FamilyState::Unknown
                                           : FamilyState::Fails;
}

void set_path(const std::optional<PathDirection>& direction, PathResult& way) {
  if (direction) {
    way.hops = direction->hops;
    way.mtu_bytes = or_empty(direction->mtu).path_mtu_bytes;
    way.black_hole_bytes = or_empty(direction->mtu).black_hole_bytes;
  }
}

}  // namespace

Result<> read_path(const Json& document, PairResult& pair) {
  TRY(PathDocument path, read<PathDocument>(document, "chokepoint.probe.path/1"));
  const PathFamily& tested = path.families[path.peer.family];
  set_path(tested.forward, pair.there);
  set_path(tested.reverse, pair.back);
  pair.ipv4 = state_of(path.families["ipv4"]);
  pair.ipv6 = state_of(path.families["ipv6"]);
  return {};
}

Result<> read_flows(const Json& document, BundleResult& bundle) {
  TRY(FlowsDocument read_in, read<FlowsDocument>(document, "chokepoint.probe.paths/1"));
  if (bundle.verdict.empty()) {
    bundle.verdict = read_in.verdict;
  }
  for (FlowsFinding& finding : read_in.findings) {
    const bool is_sent = finding.direction == "send";
    bundle.bad.push_back({.fault = finding.kind,
                          .from = is_sent ? bundle.asked : bundle.peer,
                          .to = is_sent ? bundle.peer : bundle.asked,
                          .loss_percent = finding.loss_percent,
                          .others_loss_percent = finding.others_loss_percent,
                          .later_ms = finding.later_ms,
                          .mbps = finding.rate_mbps,
                          .others_mbps = finding.others_rate_mbps,
                          .flows = finding.flows,
                          .of_flows = static_cast<std::uint32_t>(read_in.flows.size()),
                          .one_of = finding.one_of_members,
                          .ports = std::move(finding.source_ports),
                          .router = finding.hop ? finding.hop->address : ""});
  }
  return {};
}

}  // namespace chokepoint::preflight::coordinator
