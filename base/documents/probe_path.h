// chokepoint.probe.path/1: the path of packets to a host and back, and their largest size.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/documents/bounds.h"
#include "base/documents/connection.h"
#include "base/documents/peer.h"
#include "base/documents/values.h"

namespace chokepoint {

namespace documents {

enum class ProbeProtocol { Udp, Tcp };

enum class HopSilence {
  None,         // every probe was answered
  Silent,       // no answer, though hops behind it answer: it forwards without answering
  RateLimited,  // fewer answers than from a hop behind it: it limits their rate and loses nothing
  PathLoss,  // every hop behind it misses as many: lost here or before, or the target's rate limit
  Unknown,   // no answer, and none from behind it
};

enum class SameRouter {
  Same,     // proven to be one router
  Likely,   // the addresses fit, as those of two routers in one network would
  Differs,  // two routers
  Unknown,  // one of them does not answer
};

struct PathHop {
  int ttl = 0;
  std::optional<net::Address> address = {};
  std::optional<double> rtt_ms = {};
  std::optional<double> loss_percent = {};
  int sent = 0;
  int answered = 0;
  std::vector<net::Address> addresses = {};
  HopSilence silence = HopSilence::None;
  std::string unreachable = {};
};

using PathHops = std::vector<PathHop>;

struct PathBlackHole {
  int packet_bytes = 0;
  std::optional<net::Address> last_before = {};
  std::optional<net::Address> first_behind = {};
};

struct PathMtu {
  std::optional<int> path_mtu_bytes = {};
  std::optional<int> interface_mtu_bytes = {};
  bool confirmed = false;
  std::optional<net::Address> limited_by = {};
  std::optional<int> announced_bytes = {};
  std::optional<int> black_hole_from_bytes = {};
  std::optional<PathBlackHole> black_hole = {};
};

struct PathTrace {
  ProbeProtocol protocol = ProbeProtocol::Udp;
  net::Address source = {};
  net::Address target = {};
  std::uint16_t port = 0;
  bool reached = false;
  bool complete = true;
  int probed_to = 0;
  std::optional<int> length = {};
  std::optional<double> loss_percent = {};
};

// One direction: its trace, or why there is none.
struct PathDirection {
  std::optional<PathTrace> trace = {};
  std::optional<PathHops> hops = {};
  std::optional<PathMtu> mtu = {};
  std::optional<std::string> why_not = {};
};

struct RouterMatch {
  int ttl = 0;  // in the forward trace
  std::optional<net::Address> forward = {};
  std::optional<net::Address> reverse = {};
  SameRouter match = SameRouter::Unknown;
  std::string why = {};
};

struct PathSymmetry {
  std::optional<bool> symmetric = {};  // stands beside the others in the document
  std::string why = {};
  std::vector<RouterMatch> routers = {};
};

struct PathFamily {
  bool resolves = false;
  std::vector<net::Address> addresses = {};
  std::optional<net::Address> source = {};
  Connection connection = Connection::Untried;
  std::string reason = {};
  std::optional<double> connect_ms = {};
  std::optional<bool> udp_passes = {};
  PathDirection forward = {};
  PathDirection reverse = {};
  PathSymmetry symmetry = {};
  std::optional<int> path_mtu_bytes = {};
};

struct PathFamilies {
  PathFamily ipv4 = {};
  PathFamily ipv6 = {};

  const PathFamily& of(net::Family family) const {
    return family == net::Family::Ipv4 ? ipv4 : ipv6;
  }
};

struct PathPeer {
  std::string host = {};
  std::optional<net::Address> address = {};
  net::Family family = net::Family::Ipv4;
  std::uint16_t port = 0;
};

struct ProbePath {
  PathPeer peer = {};
  ProbeProtocol protocol = ProbeProtocol::Udp;
  std::optional<PathHops> forward = {};
  std::optional<PathHops> reverse = {};
  std::string reverse_unknown_because = {};
  std::optional<bool> symmetric = {};
  std::optional<int> path_mtu_bytes = {};
  PathFamilies families = {};
  std::optional<std::string> dual_stack_finding = {};
};

inline constexpr double kMaxPacketBytes = 1 << 20;  // the kernel reports such sizes on loopback
inline constexpr double kMaxHops = 255;

}  // namespace documents

template <>
struct EnumNames<documents::ProbeProtocol> {
  using enum documents::ProbeProtocol;
  static constexpr std::string_view kWhat = "udp or tcp";
  static constexpr auto kNames =
      std::to_array<EnumName<documents::ProbeProtocol>>({{Udp, "udp"}, {Tcp, "tcp"}});
};

template <>
struct EnumNames<documents::HopSilence> {
  using enum documents::HopSilence;
  static constexpr std::string_view kWhat = "why probes were not answered";
  static constexpr auto kNames =
      std::to_array<EnumName<documents::HopSilence>>({{None, "none"},
                                                      {Silent, "silent"},
                                                      {RateLimited, "rate_limited"},
                                                      {PathLoss, "path_loss"},
                                                      {Unknown, "unknown"}});
};

template <>
struct EnumNames<documents::SameRouter> {
  using enum documents::SameRouter;
  static constexpr std::string_view kWhat = "whether two routers are one";
  static constexpr auto kNames = std::to_array<EnumName<documents::SameRouter>>(
      {{Same, "same"}, {Likely, "likely"}, {Differs, "differs"}, {Unknown, "unknown"}});
};

template <>
struct Fields<documents::PathHop> {
  using H = documents::PathHop;
  static constexpr FieldList kList{
      field("ttl", &H::ttl, "distance of the hop").between(1, documents::kMaxHops),
      field("address", &H::address, "address that answered most often; null: none did"),
      field("rtt_ms", &H::rtt_ms, "median round trip").between(0, documents::kMaxMs),
      field("loss_percent", &H::loss_percent, "probes without an answer; null: none was sent")
          .between(0, 100),
      field("sent", &H::sent, "probes sent").at_least(0),
      field("answered", &H::answered, "probes that were answered").at_least(0),
      field("addresses", &H::addresses, "addresses that answered, the most frequent first"),
      field("silence", &H::silence, "why probes were not answered: see docs/internals/path.md"),
      field("unreachable", &H::unreachable, "what the hop said of the target, in words")
          .null_if_empty()};
};

template <>
struct Fields<documents::PathBlackHole> {
  using B = documents::PathBlackHole;
  static constexpr FieldList kList{
      field("packet_bytes", &B::packet_bytes, "size of the packets that were lost")
          .between(0, documents::kMaxPacketBytes),
      field("last_before", &B::last_before, "the last router that these packets passed"),
      field("first_behind", &B::first_behind, "the first router that they did not pass")};
};

template <>
struct Fields<documents::PathMtu> {
  using M = documents::PathMtu;
  static constexpr FieldList kList{
      field("path_mtu_bytes", &M::path_mtu_bytes, "the largest packet that passes whole")
          .between(0, documents::kMaxPacketBytes),
      field("interface_mtu_bytes", &M::interface_mtu_bytes, "MTU of the sender's interface")
          .between(0, documents::kMaxPacketBytes),
      field("confirmed", &M::confirmed, "whether the target confirmed a packet"),
      field("limited_by", &M::limited_by, "address of the router that limits the MTU"),
      field("announced_bytes", &M::announced_bytes, "MTU that the router reported")
          .between(0, documents::kMaxPacketBytes),
      field("black_hole_from_bytes", &M::black_hole_from_bytes,
            "packets from this size on are lost without an answer; null: no size is")
          .between(0, documents::kMaxPacketBytes),
      field("black_hole", &M::black_hole, "where these packets are lost")};
};

template <>
struct Fields<documents::PathTrace> {
  using T = documents::PathTrace;
  static constexpr FieldList kList{
      field("protocol", &T::protocol, "protocol of the probes"),
      field("source", &T::source, "IP address of the sender"),
      field("target", &T::target, "IP address of the target"),
      field("port", &T::port, "port of the target"),
      field("reached", &T::reached, "whether the target answered"),
      field("complete", &T::complete, "false: time ran out first"),
      field("probed_to", &T::probed_to, "the highest TTL that was tried")
          .between(0, documents::kMaxHops),
      field("length", &T::length, "hops to the target; null: it did not answer")
          .between(0, documents::kMaxHops),
      field("loss_percent", &T::loss_percent, "loss over the whole path").between(0, 100)};
};

template <>
struct Fields<documents::PathDirection> {
  using D = documents::PathDirection;
  static constexpr FieldList kList{
      spread(&D::trace), field("hops", &D::hops, "hops of the path; null: it was not traced"),
      field("mtu", &D::mtu, "path MTU; null where it was not measured").or_default(),
      field("why_not", &D::why_not, "why the path was not traced").omitted_if_unknown()};
};

template <>
struct Fields<documents::RouterMatch> {
  using R = documents::RouterMatch;
  static constexpr FieldList kList{
      field("ttl", &R::ttl, "hop number on the forward path").at_least(0),
      field("forward", &R::forward, "address in the forward trace"),
      field("reverse", &R::reverse, "address in the reverse trace"),
      field("match", &R::match, "whether both addresses belong to one router"),
      field("why", &R::why, "the reason in words")};
};

template <>
struct Fields<documents::PathSymmetry> {
  using S = documents::PathSymmetry;
  static constexpr FieldList kList{
      field("why", &S::why, "why the path is symmetric or not"),
      field("routers", &S::routers, "routers in the order of the forward path")};
};

template <>
struct Fields<documents::PathFamily> {
  using F = documents::PathFamily;
  static constexpr FieldList kList{
      field("resolves", &F::resolves, "whether the name has addresses of this family"),
      field("addresses", &F::addresses, "addresses of the name"),
      field("source", &F::source, "address of this host that is used; null: no route"),
      field("connection", &F::connection, "result of a TCP connection"),
      field("reason", &F::reason, "why the connection failed").null_if_empty(),
      field("connect_ms", &F::connect_ms, "time of the handshake, or until the refusal")
          .between(0, documents::kMaxMs),
      field("udp_passes", &F::udp_passes,
            "whether UDP passes between both ends; null without a reverse trace"),
      field("forward", &F::forward, "the path to the peer"),
      field("reverse", &F::reverse, "the path back"),
      within(&F::symmetry, field("symmetric", &documents::PathSymmetry::symmetric,
                                 "both directions use the same routers; null: not known")),
      field("symmetry", &F::symmetry, "how `symmetric` was found"),
      field("path_mtu_bytes", &F::path_mtu_bytes, "path MTU towards the target")
          .between(0, documents::kMaxPacketBytes)};
};

template <>
struct Fields<documents::PathFamilies> {
  using F = documents::PathFamilies;
  static constexpr FieldList kList{field("ipv4", &F::ipv4, "results over IPv4"),
                                   field("ipv6", &F::ipv6, "results over IPv6")};
};

template <>
struct Fields<documents::PathPeer> {
  using P = documents::PathPeer;
  static constexpr FieldList kList{
      field("host", &P::host, "host as it was given"),
      field("address", &P::address, "first address of the peer in this family"),
      field("family", &P::family, "address family of the values outside `families`"),
      field("port", &P::port, "port of the TCP connection")};
};

template <>
struct Fields<documents::ProbePath> {
  using P = documents::ProbePath;
  static constexpr std::string_view kSchema = "chokepoint.probe.path/1";
  static constexpr const char* kCommand = "probe path";
  static constexpr FieldList kList{
      field("peer", &P::peer, "the other end"),
      field("protocol", &P::protocol, "protocol of the probes"),
      field("forward", &P::forward, "hops from here to the peer; null: not traced"),
      field("reverse", &P::reverse, "hops from the peer to here; null: not traced"),
      field("reverse_unknown_because", &P::reverse_unknown_because, "why there is no reverse trace")
          .null_if_empty(),
      field("symmetric", &P::symmetric, "both directions use the same routers; null: not known"),
      field("path_mtu_bytes", &P::path_mtu_bytes, "the largest packet that passes whole")
          .between(0, documents::kMaxPacketBytes),
      field("families", &P::families, "paths to the peer, by address family"),
      field("dual_stack_finding", &P::dual_stack_finding,
            "what to do, where only one of both families works")};
};

}  // namespace chokepoint
