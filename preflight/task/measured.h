// All that a preflight measured: hosts, pairs, cuts, the collective. preflight/coordinator fills
// it; the judgement, the document and the page read it. Values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/checks/check.h"
#include "base/documents/probe_paths.h"
#include "base/host/settings.h"
#include "base/json/fields.h"
#include "base/sys/error.h"
#include "preflight/task/host_facts.h"

namespace chokepoint::preflight {

using HostIndex = std::uint32_t;  // in the order in which the hosts were given

// Nullopt: not measured. A float, because there are a million of them between a thousand hosts.
using Figure = std::optional<float>;

// How far a host took part. One that was lost keeps what was measured until then.
enum class Presence : std::uint8_t {
  Unresolved,   // its name leads nowhere
  Unreachable,  // no route, no answer
  NoAgent,      // the host is up, and no agent listens
  Refused,      // the agent does not let this preflight in: another key, another preflight
  Strange,      // what answers there has no, or another, protocol
  Lost,         // was there, and went in the midst of it
  Present,
};

// What one host got when it looked up another's name.
struct NameAnswer {
  HostIndex asked = 0;
  std::vector<std::string> addresses = {};
  std::optional<Error> error = {};
};

struct HostResult {
  std::string name = {};     // as it was given
  std::string address = {};  // where its agent was reached; tests of pairs go there
  Presence presence = Presence::Present;
  std::optional<Error> error = {};  // why it is not present
  std::string lost_during = {};     // what was under way then, in words; empty unless Lost
  std::string program = {};         // "chokepoint 0.1.0"
  std::optional<HostFacts> facts = {};
  host::Settings settings = {};  // for the history; no part of the document
  checks::Checks doctor = {};
  std::vector<NameAnswer> names = {};
};

// At whose address the host was reached; null if it reported no interface with that address.
inline const InterfaceFacts* tested_interface(const HostResult& host) {
  if (!host.facts || host.address.empty()) {
    return nullptr;
  }
  const auto at = std::ranges::find_if(host.facts->interfaces, [&](const InterfaceFacts& each) {
    return std::ranges::find(each.addresses, host.address) != each.addresses.end();
  });
  return at == host.facts->interfaces.end() ? nullptr : &*at;
}

// What the sender's kernel held a TCP flow to; probe tcp's `limit`.
enum class TcpLimit : std::uint8_t {
  Unknown,
  Network,
  ReceiveWindow,
  SendBuffer,
  SenderCpu,
  ReceiverCpu,
  Application,
};

// One direction between two hosts.
struct PathResult {
  Figure tcp_mbps = {};               // while the other pairs of its round were at it
  Figure alone_mbps = {};             // again, with nothing else on; only where it was suspected
  Figure together_mbps = {};          // its share with everything at once; only where it took part
  Figure retransmitted_percent = {};  // of the TCP test's segments
  Figure window_share = {};           // of its time the flow waited for the receiver's window
  Figure send_buffer_share = {};
  Figure largest_window_bytes = {};
  Figure sender_cpu_percent = {};  // the busiest core
  Figure receiver_cpu_percent = {};
  TcpLimit limit = TcpLimit::Unknown;
  std::uint32_t packets = 0;     // of UDP at a low rate, nothing else on
  std::uint32_t lost = 0;        // of these, by the network; what the hosts dropped is not counted
  Figure mtu_bytes = {};         // the largest packet that passes whole
  Figure black_hole_bytes = {};  // from this size on packets vanish without a word
  Figure hops = {};
  Figure rdma_mbps = {};
};

enum class FamilyState : std::uint8_t { Unknown, Absent, Works, Fails };

struct PairResult {
  HostIndex a = 0;
  HostIndex b = 0;
  PathResult there = {};  // from a to b
  PathResult back = {};
  Figure rtt_ms = {};  // idle: the median, and of a hundred the slowest but one
  Figure rtt_p99_ms = {};
  Figure rtt_min_ms = {};
  Figure clock_offset_ms = {};  // b's clock less a's
  Figure clock_uncertainty_ms = {};
  FamilyState ipv4 = FamilyState::Unknown;
  FamilyState ipv6 = FamilyState::Unknown;
  Figure rdma_latency_us = {};
};

// The higher rate of the way's round and its test alone: a slow link reaches its rate in neither,
// while busy processors may slow down either of them.
inline Figure rate_of(const PathResult& path) { return std::max(path.alone_mbps, path.tcp_mbps); }

inline bool is_tested(const PairResult& pair) {
  return pair.rtt_ms || pair.there.packets > 0 || pair.back.packets > 0 || pair.there.tcp_mbps ||
         pair.back.tcp_mbps;
}

// A test of a pair that came to nothing, though both hosts are there.
struct Trouble {
  HostIndex a = 0;
  HostIndex b = 0;
  std::string test = {};  // "tcp", "path"
  Error error = {};
};

// Many pairs at once across a cut through the cluster.
struct CutResult {
  std::vector<HostIndex> left = {};
  std::vector<HostIndex> right = {};
  std::vector<std::pair<HostIndex, HostIndex>> paths = {};  // who sent to whom at the same time
  double together_mbps = 0;                                 // all ways, while all were on
  std::optional<double> alone_mbps = {};  // the same ways, one after the other, added up
};

// What is wrong with one of the parallel links between two hosts, by the flows that take it.
using MemberFault = documents::FlowFault;

struct BadMember {
  MemberFault fault = MemberFault::Loss;
  HostIndex from = 0;
  HostIndex to = 0;
  Figure loss_percent = {};
  Figure others_loss_percent = {};
  Figure later_ms = {};
  Figure mbps = {};  // of a flow alone
  Figure others_mbps = {};
  std::uint32_t flows = 0;                   // that take it
  std::uint32_t of_flows = 0;                // that were sent
  std::optional<std::uint32_t> one_of = {};  // about so many members
  std::vector<std::uint16_t> ports = {};     // of these flows, at the host that was asked
  std::string router = {};                   // that only they pass; empty: not known
};

// Many flows between two hosts, each measured and all compared: probe paths.
struct BundleResult {
  HostIndex asked = 0;
  HostIndex peer = 0;
  std::string verdict = {};  // of the flows' loss and delay: "found", "alike" or "unknown"
  std::vector<BadMember> bad = {};
};

struct CollectiveResult {
  std::string backend = {};
  int ranks = 0;
  std::int64_t bytes = 0;
  std::optional<double> bus_mbps = {};
  std::optional<double> time_us = {};
  std::optional<Error> error = {};
};

struct Measured {
  std::string plan = {};    // "quick", "default", "thorough"
  std::uint64_t seed = 0;   // which pairs of a sample meet; the same again by the same hosts
  bool is_sampled = false;  // not every pair was tested
  bool was_interrupted = false;
  std::vector<std::string> left_out = {};  // what was not tested, and why, in words
  double duration_s = 0;
  std::string program = {};  // the coordinator's: "chokepoint 0.1.0"
  std::vector<HostResult> hosts = {};
  std::vector<PairResult> pairs = {};  // by a, then b; a < b
  std::vector<Trouble> troubles = {};
  std::vector<CutResult> cuts = {};
  std::vector<BundleResult> bundles = {};
  std::optional<CollectiveResult> collective = {};
};

}  // namespace chokepoint::preflight

namespace chokepoint {

template <>
struct EnumNames<preflight::Presence> {
  using P = preflight::Presence;
  static constexpr std::string_view kWhat = "a state of a host";
  static constexpr auto kNames = std::to_array<EnumName<P>>({{P::Unresolved, "unresolved"},
                                                             {P::Unreachable, "unreachable"},
                                                             {P::NoAgent, "no-agent"},
                                                             {P::Refused, "refused"},
                                                             {P::Strange, "strange"},
                                                             {P::Lost, "lost"},
                                                             {P::Present, "present"}});
};

// Unknown has no name: documents have null for it, here and for the next one.
template <>
struct EnumNames<preflight::TcpLimit> {
  using L = preflight::TcpLimit;
  static constexpr std::string_view kWhat = "what limits a TCP flow";
  static constexpr auto kNames = std::to_array<EnumName<L>>({{L::Network, "network"},
                                                             {L::ReceiveWindow, "receive-window"},
                                                             {L::SendBuffer, "send-buffer"},
                                                             {L::SenderCpu, "sender-cpu"},
                                                             {L::ReceiverCpu, "receiver-cpu"},
                                                             {L::Application, "application"}});
};

template <>
struct EnumNames<preflight::FamilyState> {
  using F = preflight::FamilyState;
  static constexpr std::string_view kWhat = "absent, works or fails";
  static constexpr auto kNames =
      std::to_array<EnumName<F>>({{F::Absent, "absent"}, {F::Works, "works"}, {F::Fails, "fails"}});
};

}  // namespace chokepoint
