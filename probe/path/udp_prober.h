// Probes as UDP datagrams of one flow: source address, source port, target address and target port
// stay the same for every probe, so routers that spread flows over parallel paths send all of them
// along one. Which probe an answer belongs to is told by the stamp inside the quoted datagram.
//
// DF is set on every probe and what the kernel has learned about the path's MTU is not consulted,
// so a probe larger than the path takes is answered with TooBig, or vanishes.
//
// A peer that takes part has such a socket, too, connected to this one: each echoes the other's
// probes while it collects, so both can trace the one flow at the same time.
//
// Owns its socket; one thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/path/error_queue.h"
#include "probe/path/prober.h"
#include "probe/path/stamp.h"

namespace chokepoint::probe::path {

struct Origin {
  std::optional<net::Address> source = {};  // of this host; the kernel's choice where it is not set
  std::string interface = {};
  int interrupt = -1;  // readable once waiting shall end; not owned
};

// Of a probe whose size does not matter.
constexpr int kSmallPacketBytes = 60;

// The IP and the UDP header around a datagram.
int udp_overhead_bytes(net::Family family);

class UdpProber final : public Prober {
 public:
  // `packet_bytes` of each probe, IP and UDP header included.
  static Result<UdpProber> open(const net::Endpoint& target, const Origin& origin, int packet_bytes,
                                const sys::Clock& clock);

  // Takes a socket over that is connected to a peer that takes part.
  static Result<UdpProber> adopt(sys::Descriptor socket, int interrupt, const sys::Clock& clock);

  Result<> send(const Shot& shot) override;
  Result<std::vector<Reply>> collect(std::chrono::nanoseconds wait) override;
  void abandon(std::uint32_t /*sequence*/) override {}

  void set_packet_bytes(int packet_bytes);
  // What the interface towards the target carries, whatever the path behind it does.
  Result<int> interface_mtu_bytes();
  const net::Endpoint& source() const { return source_; }
  const net::Endpoint& target() const { return target_; }

 private:
  UdpProber(sys::Descriptor socket, const net::Endpoint& target, const net::Endpoint& source,
            int interrupt, const sys::Clock& clock);

  // The errno of the attempt, 0 where it went out.
  int attempt(std::span<const std::byte> datagram, std::optional<int> ttl) const;
  void echo(const Stamp& stamp) const;
  std::optional<Reply> reply_of(const QueuedError& error) const;
  void take_errors(std::vector<Reply>& replies);
  void take_datagrams(std::vector<Reply>& replies) const;
  Reply too_big_here(std::uint32_t sequence) const;

  sys::Descriptor socket_;
  net::Endpoint target_;
  net::Endpoint source_;
  int interrupt_;
  const sys::Clock* clock_;
  std::uint32_t nonce_;
  std::vector<std::byte> datagram_;
  std::vector<Reply> pending_;  // what send() learned and collect() tells
  std::optional<std::uint32_t> interface_mtu_ = {};
};

}  // namespace chokepoint::probe::path
