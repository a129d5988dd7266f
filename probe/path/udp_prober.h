// Probes as UDP datagrams of one flow: source address, source port, target address and target port
// are the same for every probe, so routers that spread flows over parallel paths send all of them
// along one path. The stamp inside the quoted datagram identifies the probe that an answer belongs
// to.
//
// DF is set on every probe, and the path MTU that the kernel has learned is not consulted, so a
// probe larger than the path's MTU is answered with TooBig, or vanishes.
//
// A participating peer has such a socket, too, connected to this one: each echoes the other's
// probes while it collects, so both can trace the one flow at the same time.
//
// A stamp is in network order; the rest of a probe is zeros, an echo has no rest:
//
//   0          4          8           12
//   │ "ckpp"   │ nonce    │ sequence  │ zeros …     a probe
//   │ "ckpe"   │ nonce    │ sequence  │             its echo
//
// The nonce is the sender's own, so that neither leftovers of another trace between the same hosts
// nor the peer's own probes count as an answer.
//
// The answers come from the kernel's error queue of the socket (IP_RECVERR, MSG_ERRQUEUE): the ICMP
// errors that routers sent about its packets, with the router's address. That needs no privilege,
// and ICMP errors about other programs' packets are not in it.
//
// The prober owns its socket. One thread per socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "probe/path/trace.h"

namespace chokepoint::probe::path {

struct IcmpMeaning {
  ReplyKind kind = ReplyKind::Unreachable;
  std::optional<Unreachable> reason = {};
};

// "Port unreachable" is the target's answer to a UDP probe: Reached.
IcmpMeaning meaning_of(net::Family family, std::uint8_t type, std::uint8_t code);

struct QueuedError {
  IcmpMeaning meaning = {};
  bool local = false;  // from this host's kernel, not an ICMP message
  std::optional<net::Address> from = {};
  std::optional<std::uint32_t> mtu_bytes = {};
  std::optional<std::int64_t> wall_ns = {};  // when it arrived, by the kernel's timestamp
  // What was quoted of the probe behind its UDP header: empty where the router quoted 8 bytes.
  std::array<std::byte, 64> quote = {};
  std::size_t quoted = 0;

  std::span<const std::byte> quote_bytes() const { return {quote.data(), quoted}; }
};

// Makes the kernel queue errors, with the time of their arrival.
Result<> enable_error_queue(int fd, net::Family family);

// nullopt where the queue is empty.
std::optional<QueuedError> next_error(int fd, net::Family family);

// Converts the kernel's timestamp of an arrival to the monotonic clock. Now where there is none, or
// where a step of the wall clock made it useless.
std::int64_t monotonic_of(std::optional<std::int64_t> wall_ns, const sys::Clock& clock);

constexpr std::size_t kStampBytes = 12;

enum class StampKind { Probe, Echo };

struct Stamp {
  StampKind kind = StampKind::Probe;
  std::uint32_t nonce = 0;
  std::uint32_t sequence = 0;
};

// `into` holds at least kStampBytes.
void write_stamp(std::span<std::byte> into, const Stamp& stamp);

// nullopt where there is none, or only a part of one.
std::optional<Stamp> read_stamp(std::span<const std::byte> from);

struct Origin {
  std::optional<net::Address> source = {};  // of this host; the kernel's choice where it is not set
  std::string interface = {};
  int interrupt = -1;  // a descriptor, readable once waiting shall end; not owned

  // What to bind a socket of this family to: any port of the source.
  net::Endpoint local(net::Family family) const;
};

// The size of a probe where size does not matter.
constexpr int kSmallPacketBytes = 60;

class UdpProber final : public Prober {
 public:
  // `packet_bytes`: of each probe, with IP and UDP headers.
  static Result<UdpProber> open(const net::Endpoint& target, const Origin& origin, int packet_bytes,
                                const sys::Clock& clock);

  // Takes over a socket that is connected to a participating peer.
  static Result<UdpProber> adopt(sys::Descriptor socket, int interrupt, const sys::Clock& clock);

  Result<> send(const ProbePacket& packet) override;
  Result<std::vector<Reply>> collect(std::chrono::nanoseconds wait) override;
  void abandon(std::uint32_t /*sequence*/) override {}

  void set_packet_bytes(int packet_bytes);
  // The MTU of the interface towards the target.
  Result<int> interface_mtu_bytes();
  const net::Endpoint& source() const { return source_; }
  const net::Endpoint& target() const { return target_; }

 private:
  UdpProber(sys::Descriptor socket, const net::Endpoint& target, const net::Endpoint& source,
            int interrupt, const sys::Clock& clock);

  // 0 where it was sent, else errno.
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
  std::vector<Reply> pending_;  // what send() learned and collect() returns
  std::optional<std::uint32_t> interface_mtu_ = {};
};

}  // namespace chokepoint::probe::path
