// What one end finds out about the path to the other end over one address family: the hops, the
// path MTU, and where large packets vanish, if they do. Both ends of a path make a survey. A survey
// blocks up to its deadline and runs on one thread.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "base/net/address.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/path/mtu_search.h"
#include "probe/path/trace.h"
#include "probe/path/trace_analysis.h"
#include "probe/path/udp_prober.h"

namespace chokepoint::probe::path {

// Where traceroute starts; no program listens there.
constexpr std::uint16_t kTracePort = 33434;

struct SurveyOptions {
  Protocol protocol = Protocol::Udp;
  std::uint16_t port = kTracePort;  // of the target
  Origin origin = {};
  PlanOptions plan = {};
  bool search_mtu = true;
};

struct Survey {
  Trace trace = {};
  std::optional<MtuFinding> mtu = {};
  std::optional<BlackHole> black_hole = {};
};

// Towards any host, without a peer.
Result<Survey> survey(const net::Address& target, const SurveyOptions& options,
                      const sys::Clock& clock, std::int64_t until_ns);

// With a peer that echoes probes at the other end of the prober's flow. With Protocol::Tcp the hops
// are found by connection attempts to the target's port.
Result<Survey> survey(UdpProber& flow, const SurveyOptions& options, const sys::Clock& clock,
                      std::int64_t until_ns);

// Probes as TCP connection attempts to a port of the target, which filters let through that drop
// UDP. A SYN whose TTL runs out fails its socket with the router's ICMP error; the target answers
// with SYN-ACK or RST. Every probe is a socket and therefore a flow of its own, so parallel paths
// may show up as several addresses at one hop. Owns the sockets; successful connections are reset.
class TcpProber final : public Prober {
 public:
  TcpProber(const net::Endpoint& target, const Origin& origin, const sys::Clock& clock);

  Result<> send(const ProbePacket& packet) override;
  Result<std::vector<Reply>> collect(std::chrono::nanoseconds wait) override;
  void abandon(std::uint32_t sequence) override { sockets_.erase(sequence); }

 private:
  Result<sys::Descriptor> open(int ttl) const;
  std::optional<Reply> outcome(std::uint32_t sequence, int fd, short events) const;
  Reply answer_without_icmp(std::uint32_t sequence, int code) const;

  net::Endpoint target_;
  Origin origin_;
  const sys::Clock* clock_;
  std::map<std::uint32_t, sys::Descriptor> sockets_;
  std::vector<Reply> pending_;
};

}  // namespace chokepoint::probe::path
