// chokepoint.rdma.flows/1: which of many flow labels between two RDMA ports are slower than the
// others.
#pragma once

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
#include "base/documents/rdma.h"

namespace chokepoint {

namespace documents {

// Flows of a group that is slower than the fastest.
struct RdmaFlowsFinding {
  double p_value = 1;
  std::size_t flows = 0;
  SharePercent share_percent = {};
  std::optional<long> one_of_members = {};
  double rate_mbps = 0;
  double others_rate_mbps = 0;
  std::vector<std::uint32_t> flow_labels = {};
  std::vector<std::uint16_t> source_ports = {};
};

struct RdmaFlow {
  std::uint32_t flow_label = 0;
  std::uint16_t source_port = 0;
  std::optional<double> rate_mbps = {};
  std::optional<double> first_mbps = {};
  std::optional<double> second_mbps = {};
  std::string failure = {};
};

struct RdmaFlows {
  Peer peer = {};
  RdmaOperation operation = RdmaOperation::Write;
  std::string device = {};
  std::string peer_device = {};
  std::string gid = {};
  std::string peer_gid = {};
  int mtu_bytes = 0;
  std::uint32_t message_bytes = 0;
  std::optional<double> test_s = {};
  FlowsVerdict verdict = FlowsVerdict::Unknown;
  std::string unknown_because = {};
  std::vector<RdmaFlowsFinding> findings = {};
  std::vector<RdmaFlow> flows = {};
  bool interrupted = false;
};

inline constexpr std::size_t kMaxRdmaFlows = 256;
inline constexpr std::uint32_t kMaxFlowLabel = 0xfffff;  // 20 bits

}  // namespace documents

template <>
struct Fields<documents::RdmaFlowsFinding> {
  using F = documents::RdmaFlowsFinding;
  static constexpr FieldList kList{
      field("p_value", &F::p_value,
            "largest probability that flows without a difference look like this")
          .between(0, 1),
      field("flows", &F::flows, "flows in this group").between(1, documents::kMaxRdmaFlows),
      field("share_percent", &F::share_percent, "share of all flows"),
      field("one_of_members", &F::one_of_members,
            "estimated number of members of the bundle, of which this path is one; null where most "
            "flows are in the group")
          .between(1, documents::kMaxRdmaFlows),
      field("rate_mbps", &F::rate_mbps, "rate of a flow of the group alone, 10^6 bit/s")
          .between(0, documents::kMaxMbps),
      field("others_rate_mbps", &F::others_rate_mbps, "rate of one of the fastest flows")
          .between(0, documents::kMaxMbps),
      field("flow_labels", &F::flow_labels, "flow labels of the flows in the group")
          .between(1, documents::kMaxFlowLabel)
          .up_to_items(documents::kMaxRdmaFlows),
      field("source_ports", &F::source_ports, "source ports of the flows in the group")
          .at_least(1)
          .up_to_items(documents::kMaxRdmaFlows)};
};

template <>
struct Fields<documents::RdmaFlow> {
  using F = documents::RdmaFlow;
  static constexpr FieldList kList{
      field("flow_label", &F::flow_label, "flow label of the queue pair's packets, both directions")
          .between(1, documents::kMaxFlowLabel),
      field("source_port", &F::source_port, "UDP source port that Linux derives from the label")
          .at_least(0xc000),
      field("rate_mbps", &F::rate_mbps,
            "mean rate of both tests, 10^6 bit/s; null where one is missing")
          .between(0, documents::kMaxMbps),
      field("first_mbps", &F::first_mbps,
            "rate in the first pass; 0 where the test failed before its end; null where it did not "
            "run")
          .between(0, documents::kMaxMbps),
      field("second_mbps", &F::second_mbps,
            "rate in the second pass; 0 where the test failed before its end; null where it did "
            "not run")
          .between(0, documents::kMaxMbps),
      field("failure", &F::failure, "why a test of the flow failed").null_if_empty()};
};

template <>
struct Fields<documents::RdmaFlows> {
  using R = documents::RdmaFlows;
  static constexpr std::string_view kSchema = "chokepoint.rdma.flows/1";
  static constexpr const char* kCommand = "rdma write|read|send|atomic bw HOST --flows N";
  static constexpr FieldList kList{
      field("peer", &R::peer, "the other end"),
      field("operation", &R::operation, "what is measured"),
      field("device", &R::device, "RDMA device of this host"),
      field("peer_device", &R::peer_device, "the RDMA device of the peer"),
      field("gid", &R::gid, "GID of this host's port, as an IP address"),
      field("peer_gid", &R::peer_gid, "GID of the peer's port"),
      field("mtu_bytes", &R::mtu_bytes, "MTU that both ends agreed on").at_least(0),
      field("message_bytes", &R::message_bytes, "size of a message").at_least(1),
      field("test_s", &R::test_s, "how long each test lasts").between(0, documents::kMaxSeconds),
      field("verdict", &R::verdict, "whether some flows are slower"),
      field("unknown_because", &R::unknown_because, "why the verdict is unknown; else null")
          .null_if_empty(),
      field("findings", &R::findings,
            "groups of flows that are slower than the fastest, the fastest group first")
          .up_to_items(documents::kMaxRdmaFlows),
      field("flows", &R::flows, "flows in the order of their labels")
          .up_to_items(documents::kMaxRdmaFlows),
      field("interrupted", &R::interrupted, "ended before all was measured")};
};

}  // namespace chokepoint
