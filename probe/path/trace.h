// A traceroute: what it finds, one Hop per TTL; how it sends and receives, through a Prober, behind
// which are the sockets or, in tests, a simulated network; and trace(), which runs it until
// everything is known or time is up. Blocks; one thread per trace.
//
//   plan ── ProbePacket{sequence, ttl} ──▶ Prober ── packet with that TTL ──▶ routers, target
//   plan ◀── Reply{sequence?, …} ── Prober ◀── ICMP error or the target's own answer ──
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/documents/probe_path.h"
#include "base/net/address.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"

namespace chokepoint::probe::path {

using Protocol = documents::ProbeProtocol;

// Why a router or the target did not pass a probe on.
enum class Unreachable { Network, Host, ItsProtocol, Port, TooBig, Prohibited, Other };

}  // namespace chokepoint::probe::path

// As traceroute writes it.
template <>
struct chokepoint::EnumNames<chokepoint::probe::path::Unreachable> {
  using enum probe::path::Unreachable;
  static constexpr std::string_view kWhat = "a mark such as !H";
  static constexpr auto kNames =
      std::to_array<EnumName<probe::path::Unreachable>>({{Network, "!N"},
                                                         {Host, "!H"},
                                                         {ItsProtocol, "!P"},
                                                         {Port, "!p"},
                                                         {TooBig, "!F"},
                                                         {Prohibited, "!X"},
                                                         {Other, "!?"}});
};

namespace chokepoint::probe::path {

using chokepoint::name_of;
std::string_view words_of(Unreachable reason);  // "host unreachable"

struct Hop {
  int ttl = 0;
  // Who answered, the most frequent first. None where the hop is silent; several where a trace
  // whose probes belong to different flows was spread over parallel paths.
  std::vector<net::Address> addresses = {};
  std::vector<double> rtt_ms = {};
  int sent = 0;
  int answered = 0;
  std::optional<Unreachable> unreachable = {};

  std::optional<net::Address> address() const;
  std::optional<double> median_rtt_ms() const;
  // nullopt where nothing was sent.
  std::optional<double> loss_percent() const;
};

struct Trace {
  Protocol protocol = Protocol::Udp;
  net::Endpoint source = {};
  net::Endpoint target = {};
  // From TTL 1, without gaps, to the target or to the last hop that answered.
  std::vector<Hop> hops = {};
  bool reached = false;
  int probed_to = 0;     // the highest TTL that was tried
  bool complete = true;  // false: time ran out before every probe was sent

  // Routers and the target; nullopt where the target did not answer.
  std::optional<int> length() const;
};

struct ProbePacket {
  std::uint32_t sequence = 0;
  int ttl = 0;
};

enum class ReplyKind {
  Expired,      // from a router on the path: the TTL ran out there
  Reached,      // from the target
  Unreachable,  // from a host that did not pass the probe on
  TooBig,       // from a router or this host, with the size that a packet may have
};

struct Reply {
  // nullopt where the router quoted too little of the probe to identify it.
  std::optional<std::uint32_t> sequence = {};
  ReplyKind kind = ReplyKind::Expired;
  std::optional<net::Address> from = {};
  std::optional<Unreachable> reason = {};
  std::optional<std::uint32_t> mtu_bytes = {};
  std::int64_t received_ns = 0;  // monotonic
};

class Prober {
 public:
  virtual ~Prober() = default;
  virtual Result<> send(const ProbePacket& packet) = 0;
  // Waits until something has arrived, at most for this time.
  virtual Result<std::vector<Reply>> collect(std::chrono::nanoseconds wait) = 0;
  // No answer to this probe is expected any more.
  virtual void abandon(std::uint32_t sequence) = 0;
};

struct PlanOptions {
  int max_hops = 30;
  int probes = 3;   // per hop
  int window = 32;  // probes in flight
  std::int64_t pace_ns = 25'000'000;
  std::int64_t wait_ns = 1'000'000'000;
  std::int64_t pause_ns = 1'100'000'000;  // before silent hops are probed once more
  // The wait behind the last hop that answered: a router says "host unreachable" only after it has
  // tried to resolve the target's link address for three seconds.
  std::int64_t unreachable_wait_ns = 3'500'000'000;
};

// The caller fills in source, target and protocol. `until_ns` is monotonic.
Result<Trace> trace(Prober& prober, const PlanOptions& options, const sys::Clock& clock,
                    std::int64_t until_ns);

}  // namespace chokepoint::probe::path
