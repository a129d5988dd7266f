// Probes as TCP connection attempts to the target's own port: what a filter lets through when it
// drops UDP. A SYN whose TTL runs out fails its socket with the router's ICMP error; the target
// answers with SYN-ACK or RST. Every probe is a socket and therefore a flow of its own, so parallel
// paths may show up as several addresses at one hop.
//
// Owns its sockets, one a probe in flight; connections that succeed are reset at once. One thread.
#pragma once

#include <map>
#include <vector>

#include "base/net/address.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/path/prober.h"
#include "probe/path/udp_prober.h"

namespace chokepoint::probe::path {

class TcpProber final : public Prober {
 public:
  TcpProber(const net::Endpoint& target, const Origin& origin, const sys::Clock& clock);

  Result<> send(const Shot& shot) override;
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
